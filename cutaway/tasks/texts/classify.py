r"""Classifying texts: the cost of a batch, the probabilities of many texts, their metrics, and texts as arrays.

    cost = Σ_readers mean −log softmax(v)_y             every reader learns from its own errors
    p = softmax((1 − τ) mean v + τ u)                   what readers and n-grams say together

The votes v and u are those of `TextClassifier`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.atomic_files import read_json, write_json
from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.data.labelled.ngrams import Ngrams
from cutaway.data.labelled.text_batches import EncodedTexts, TextBatch, every_text
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.tasks.temperature import FEW, find_temperature
from cutaway.training.augmentation.words import delete_words, swap_words

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_TEXTS = 256  # evaluated or predicted at a time
LABELS, NGRAMS = "labels.json", "ngrams.txt"  # in the run folder
UNKNOWN = 1


@dataclass(frozen=True)
class TextEncoder:
    """Texts to arrays: tokens, at most ``context`` of each, and n-grams of the whole text (none if there are none)."""

    tokenizer: Tokenizer
    ngrams: Ngrams | None
    context: int

    def encode(self, rows: TextRows) -> EncodedTexts:
        ids = [found[: self.context] for found in self.tokenizer.encode_each(rows.texts)]
        # A text without any token is one unknown word: a row must have something to read.
        ids = [found if len(found) else np.array([UNKNOWN]) for found in ids]
        features = [np.empty(0, np.int64)] * len(ids)
        if self.ngrams is not None:
            features = [self.ngrams.encode(text) for text in rows.texts]
        return EncodedTexts(TokenRows.from_rows(ids), TokenRows.from_rows(features), rows.labels)

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """New texts, whose labels are not known."""
        return self.encode(TextRows(list(texts), np.zeros(len(texts), np.int64)))


def vote_cost(model: nn.Module, batch: TextBatch, augment: float = 0.0) -> Tensor:
    """The sum of the readers' losses, each as if it were alone; on texts with words missing or moved, if asked."""
    tokens, _, labels = as_tensors(model, batch)
    if augment:
        tokens = shaken(tokens, augment)
    votes = model(tokens, apart=True)
    return nn.functional.cross_entropy(votes.flatten(0, 1), labels.repeat(len(votes))) * len(votes)


def shaken(tokens: Int[Tensor, "b t"], rate: float) -> Int[Tensor, "b t"]:
    """Texts of which each token is left out with probability ``rate``, and as large a share of pairs change places.

    Padding (0) stays at the end. Wei and Zou 2019; see `cutaway.training.augmentation.words`.
    """
    rows = [row[row != 0].tolist() for row in tokens]
    rows = swap_words(delete_words(rows, rate), rate)
    padded = [row + [0] * (tokens.shape[1] - len(row)) for row in rows]
    return torch.tensor(padded, dtype=tokens.dtype, device=tokens.device)


def as_tensors(model: nn.Module, batch: TextBatch) -> tuple[Tensor, Tensor, Tensor]:
    """A batch on the model's device."""
    device = next(model.parameters()).device
    tokens, features, labels = (torch.from_numpy(part).to(device) for part in batch)
    return tokens, features, labels


@torch.no_grad()
def class_probabilities(model: Any, texts: EncodedTexts) -> Float[np.ndarray, "n c"]:
    """The probability of every class for any number of texts."""
    found = np.zeros((len(texts.labels), model.spec.classes))
    for rows, batch in every_text(texts, _TEXTS):
        tokens, features, _ = as_tensors(model, batch)
        found[rows] = model(tokens, features).double().softmax(-1).cpu().numpy()
    return found


@torch.no_grad()
def calibrate_votes(model: Any, texts: EncodedTexts | None) -> dict[str, float]:
    """Divides the votes of readers and n-grams by the temperature of some texts, if they are enough; returns it."""
    if texts is None or len(texts.labels) < FEW:
        return {}
    log_p = torch.from_numpy(np.log(np.clip(class_probabilities(model, texts), 1e-300, None)))
    temperature = find_temperature(log_p, torch.from_numpy(texts.labels))
    for layer in [*(reader.classify for reader in model.readers), *([model.ngrams] if model.ngrams else [])]:
        layer.weight.div_(temperature)
        layer.bias.div_(temperature)
    return {"temperature": temperature}


def text_metrics(model: nn.Module, texts: EncodedTexts | None) -> dict[str, float]:
    """Loss, accuracy and macro F1; {} if there are no texts."""
    from cutaway.tasks.texts.bag_of_words import class_metrics

    return {} if texts is None else class_metrics(class_probabilities(model, texts), texts.labels)


def given_vectors(path: str, encoding: str) -> "tuple[list[str], Float[np.ndarray, 'n v']]":
    """Words of a file and their vectors, scaled so that their entries have a spread of a half: files differ in that."""
    from cutaway.data.text.vector_files import read_vectors

    words, matrix = read_vectors(path, encoding=encoding)
    if not words:
        raise ValueError(f"vectors must hold at least one word, got {path} with none; give another file")
    return words, matrix * (0.5 / max(float(matrix.std()), 1e-8))


def place_vectors(model: Any, tokenizer: Tokenizer, words: Sequence[str], matrix: Float[np.ndarray, "n v"]) -> int:
    """Gives the words of the vocabulary that have a vector theirs; returns how many."""
    ids = [tokenizer.inner.token_to_id(word) for word in words]
    known = [i for i, number in enumerate(ids) if number is not None]
    if known:
        model.set_vectors(torch.tensor([ids[i] for i in known]), torch.from_numpy(matrix[known]))
    return len(known)


def save_labels(path: Path, labels: Sequence[str], columns: tuple[tuple[str, ...], str]) -> None:
    write_json(path, {"version": 1, "labels": list(labels), "text": list(columns[0]), "target": columns[1]})


def labels_of(run: "Run") -> dict[str, Any]:
    """The labels of a run, and what its file called the columns."""
    path = run.file(LABELS)
    if path is None:
        raise ValueError(f"a run of a classifier needs its {LABELS}, got {run.path} without it; take it from a copy")
    return read_json(path, "labels", "text", "target")


def encoder_of(run: "Run", context: int) -> TextEncoder:
    """Texts to arrays as the run was trained."""
    path = run.file(NGRAMS)
    return TextEncoder(run.tokenizer, None if path is None else Ngrams.load(path), context)


def token_texts(tokenizer: Tokenizer, text: str, ids: Int[np.ndarray, "t"]) -> tuple[str, ...]:
    """What each token reads as in its text, with the spaces before it; joined they are the text."""
    ends = [end for _, end in tokenizer.inner.encode(text, add_special_tokens=False).offsets][: len(ids)]
    if len(ends) != len(ids):  # a text without any token
        return (text or " ",) * len(ids)
    starts = [0, *ends[:-1]]
    return tuple(text[start:end] for start, end in zip(starts, ends, strict=True))


__all__ = [
    "LABELS",
    "NGRAMS",
    "UNKNOWN",
    "TextEncoder",
    "as_tensors",
    "calibrate_votes",
    "class_probabilities",
    "encoder_of",
    "given_vectors",
    "labels_of",
    "place_vectors",
    "save_labels",
    "shaken",
    "text_metrics",
    "token_texts",
    "vote_cost",
]
