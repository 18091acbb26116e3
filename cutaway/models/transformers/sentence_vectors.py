r"""Sentence vectors: one vector for a whole text, from the hidden states of its tokens.

    z_1 … z_n = hidden states of [CLS] text [SEP]
    s = pool(z)                     the mean of all tokens, or what the checkpoint was trained with
    s ← φ(s W + b)                  dense layers, where it has some
    s ← s / ‖s‖                     so that the dot product of two texts is their cosine

Texts of like length go through the model together, so that little is padded; without padding no mask is needed.
Reimers and Gurevych 2019. Notes: N3 §5.8.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.pooling import pool_first, pool_last, pool_max, pool_mean, pool_mean_sqrt, pool_weighted
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense
from cutaway.models.specs.parts import SentenceSpec

if TYPE_CHECKING:
    from cutaway.models.specs.architectures import TextSpec

POOLS = {
    "cls": pool_first,
    "max": pool_max,
    "mean": pool_mean,
    "mean_sqrt": pool_mean_sqrt,
    "weighted": pool_weighted,
    "last": pool_last,
}
_TOKENS = 4096  # that go through the model at once, padding included
_LONGEST = 1_000_000  # characters of a text that are looked at
_MODES = Lock()
_INSIDE: "WeakKeyDictionary[nn.Module, tuple[int, bool]]" = WeakKeyDictionary()  # how many embed, and the mode before


class CutTexts(UserWarning):
    """A warning of texts that were longer than the model reads."""

    def __init__(self, cut: int, total: int, most: int) -> None:
        self.cut, self.total, self.most = cut, total, most
        super().__init__(
            f"texts may have {most:,} tokens, {cut:,} of {total:,} have more and were cut; "
            "split them to have all of them read"
        )


def build_sentence_layers(spec: "TextSpec") -> nn.ModuleList | None:
    """The dense layers behind the pooling; None without any, so that most models have no such part."""
    if spec.sentence is None or not spec.sentence.layers:
        return None
    inputs, layers = spec.width * len(spec.sentence.pooling), []
    for width, activation, bias in spec.sentence.layers:
        layers.append(Dense(inputs, width, find_activation(activation), bias))
        inputs = width
    return nn.ModuleList(layers)


def sentence_vectors(
    model: Any, tokens: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"] | None = None
) -> Float[Tensor, "b w"]:
    """The vectors of texts that are tokens already, with gradients; ``mask`` marks real tokens."""
    spec = model.spec.sentence or SentenceSpec()
    z = model.token_states(tokens, mask)
    s = torch.cat([POOLS[pooling](z, mask) for pooling in spec.pooling], -1)
    for layer in model.sentence_layers or ():
        s = layer(s)
    return nn.functional.normalize(s, dim=-1) if spec.normalize else s


def embed_texts(
    model: Any, texts: str | Iterable[str], batch: int = 64, prompt: str | None = None
) -> Float[Tensor, "..."]:
    """A vector for each text (texts, width), without gradients; of a single text its vector (width,).

    The checkpoint's modules.json says how (pooling, dense layers, length 1, the longest text); a model that came
    without one takes the mean of all tokens, brought to length 1. Longer texts are cut, and a warning tells how many. A
    text without any token has the zero vector. At most ``batch`` texts go through the model at once. ``prompt``, a
    text or the name of one of the checkpoint's prompts, is put before every text.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ValueError(f"batch must be a whole number of at least 1, got {batch!r}; try batch=64")
    one = isinstance(texts, str)
    rows, cut = encode_texts(model, [texts] if isinstance(texts, str) else texts, prompt)
    if cut:
        warnings.warn(CutTexts(cut, len(rows), text_context(model) or 0), stacklevel=3)
    vectors = embed_rows(model, rows, batch)
    return vectors[0] if one else vectors


@torch.no_grad()
def embed_rows(model: Any, rows: Sequence[np.ndarray], batch: int = 64) -> Float[Tensor, "n w"]:
    """The vectors of texts that are token ids already, in evaluation mode and without gradients."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    like = next(model.parameters())
    vectors = like.new_zeros(len(rows), sentence_width(model.spec))
    with evaluating(model):
        for places in batches_by_length(lengths, batch):
            tokens, mask = padded([rows[i] for i in places])
            found = sentence_vectors(model, tokens.to(like.device), None if mask is None else mask.to(like.device))
            vectors[torch.from_numpy(places).to(like.device)] = found
    return vectors


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, a model is in evaluation mode; with several threads, until the last of them has left."""
    with _MODES:
        inside, was_training = _INSIDE.get(model, (0, model.training))
        _INSIDE[model] = inside + 1, was_training
        if not inside:
            model.eval()
    try:
        yield
    finally:
        with _MODES:
            inside, was_training = _INSIDE.pop(model)
            if inside > 1:
                _INSIDE[model] = inside - 1, was_training
            else:
                model.train(was_training)


def encode_texts(model: Any, texts: Iterable[str], prompt: str | None = None) -> tuple[list[np.ndarray], int]:
    """The token ids of each text, as the model wants them, and how many texts were cut to its context."""
    from cutaway.models.generation.texts import find_tokenizer

    listed = expect_texts(texts)
    tokenizer = find_tokenizer(model)
    before = find_prompt(model.spec.sentence or SentenceSpec(), prompt)
    return tokenizer.encode_wholes([before + text[:_LONGEST] for text in listed], text_context(model))


def expect_texts(texts: Any) -> list[str]:
    """Texts as a list; anything that is no text is named with its place."""
    if isinstance(texts, (bytes, dict)) or not isinstance(texts, Iterable):
        raise ValueError(f"texts must be a str or several, got {type(texts).__name__}; try model.embed(['a text'])")
    listed = list(texts)
    for i, text in enumerate(listed):
        if not isinstance(text, str):
            raise ValueError(f"every text must be a str, got {text!r} at place {i}; leave it out, or use str()")
    return listed


def find_prompt(spec: SentenceSpec, asked: str | None) -> str:
    """The text that is put before every text: the one asked for, by its name or as it is, else the checkpoint's own."""
    if asked is not None and not isinstance(asked, str):
        raise ValueError(f"a prompt must be a text or the name of one, got {asked!r}; try prompt='query: '")
    known = dict(spec.prompts)
    name = spec.prompt if asked is None else asked
    return "" if name is None else known.get(name, name)


def text_context(model: Any) -> int | None:
    """The most tokens that a text may have; None if there is no limit."""
    spec = model.spec
    limits = [getattr(spec.sentence, "context", None), getattr(spec, "context", None)]
    return min((limit for limit in limits if limit is not None), default=None)


def sentence_width(spec: "TextSpec") -> int:
    """The width of a sentence vector."""
    sentence = spec.sentence or SentenceSpec()
    return sentence.layers[-1][0] if sentence.layers else spec.width * len(sentence.pooling)


def batches_by_length(lengths: np.ndarray, batch: int, tokens: int = _TOKENS) -> list[np.ndarray]:
    """Places of rows that go together: of like length, the longest first, at most ``tokens`` with padding.

    Rows without any token are in none.

    >>> [places.tolist() for places in batches_by_length(np.array([2, 9, 0, 2, 3]), 2)]
    [[1, 4], [0, 3]]
    """
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    found, first = [], 0
    while first < len(order):
        size = max(1, min(batch, tokens // int(lengths[order[first]])))
        found.append(order[first : first + size])
        first += size
    return found


def padded(rows: Sequence[np.ndarray]) -> tuple[Int[Tensor, "b t"], Bool[Tensor, "b t"] | None]:
    """Rows of one batch, padded on the right, and a mask of the real tokens; None if there is no padding."""
    lengths = np.array([len(row) for row in rows])
    longest = int(lengths.max())
    if (lengths == longest).all():
        return torch.from_numpy(np.stack(rows)), None
    real = np.arange(longest) < lengths[:, None]
    tokens = np.zeros(real.shape, dtype=np.int64)
    tokens[real] = np.concatenate(rows)
    return torch.from_numpy(tokens), torch.from_numpy(real)


__all__ = ["build_sentence_layers", "embed_rows", "embed_texts", "encode_texts", "sentence_vectors", "sentence_width"]
