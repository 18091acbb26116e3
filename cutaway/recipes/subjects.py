r"""What a run is looked at with: what goes into its model, and what a reader must know of it.

A text is cut to what a page can show, a table to a few rows. Without an input of yours it is data that the model was
not trained on, where there is some.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace

if TYPE_CHECKING:
    from cutaway.data.tables.encoding import Encoded
    from cutaway.runs.run import Run

Ids = Sequence[int] | np.ndarray
SHOWN = 64  # tokens, or rows, at most
# Nothing is known of the text that an imported checkpoint was trained on. Repeated words let induction heads show.
_SENTENCE = "The cat sat on the mat. The dog sat on the rug. The cat sat on the"


@dataclass(frozen=True)
class Subject:
    """``arguments`` are those of the model, a batch of one text or of some rows; () if there is nothing to put in.

    ``words`` tell what it is. Of a text, ``tokens`` are its tokens one by one, and ``written`` those that a decoder is
    given; of a table, ``rows`` are its rows as they are encoded.
    """

    arguments: tuple[Any, ...] = ()
    words: str = ""
    tokens: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    rows: "Encoded | None" = None

    def read(self, model: nn.Module, *addresses: str) -> dict[str, Tensor]:
        """The values at some addresses when the model is given this, one pass, as tensors on the CPU.

        Of a value with parts, the first; of a module that is called several times, the first call.
        """
        with torch.no_grad(), trace(model, *addresses, detach=True) as seen:
            model(*self.arguments)
        found = {}
        for address in seen:
            parts = list(tensors(seen.calls[address][0])) if seen.calls[address] else []
            if parts:
                found[address] = parts[0].cpu()
        return found


def token_names(tokenizer: Any, ids: Ids) -> tuple[str, ...]:
    """What each token reads as; a special token, which is no text, by its name."""
    texts = tokenizer.decode_each([int(i)] for i in ids)
    return tuple(text or tokenizer.inner.id_to_token(int(i)) or "" for i, text in zip(ids, texts, strict=True))


def text_subject(run: "Run", ids: Ids, words: str) -> Subject:
    """A text for a model of tokens, cut to its context and to what a page can show."""
    most = min(SHOWN, _context(run.model))
    if not len(ids):
        raise ValueError("a text to look at must have a token, got none; give it some words")
    ids = [int(i) for i in ids]
    if len(ids) > most:
        words, ids = f"the first {most} of {len(ids):,} tokens of {words}", ids[:most]
    tokens = torch.tensor([ids], device=_device(run.model))
    return Subject((tokens,), words, token_names(run.tokenizer, ids))


def pair_subject(run: "Run", source: Ids, target: Ids, words: str) -> Subject:
    """A source for an encoder and what a decoder is given, which begins with its start token."""
    device, most = _device(run.model), _context(run.model)
    read, written = [int(i) for i in source][:most], [int(i) for i in target][: min(SHOWN, most)]
    arguments = (torch.tensor([read], device=device), torch.tensor([written], device=device))
    return Subject(arguments, words, token_names(run.tokenizer, read), token_names(run.tokenizer, written))


def any_subject(run: "Run", given: str | None) -> Subject:
    """The subject of a run whose recipe says nothing of it: a text, if it has a tokenizer and takes tokens."""
    from cutaway.models import BERT, GPT, EncoderDecoder

    model = run.model
    if run.tokenizer is None or not isinstance(model, (BERT, GPT, EncoderDecoder)):
        if given is not None:
            raise ValueError(
                f"an input is for runs that say what to make of it, got one for a run of {run.recipe.name!r}; "
                "leave it out"
            )
        return Subject()
    words = "your text" if given is not None else "a sentence of ours"
    ids = run.tokenizer.encode(given if given is not None else _SENTENCE)
    if isinstance(model, BERT):
        return text_subject(run, with_marks(run.tokenizer, given or _SENTENCE), words)
    if isinstance(model, EncoderDecoder):
        answer = [model.spec.start, *_answer(model, ids)]
        return pair_subject(run, ids, answer, f"{words}, and what the model makes of it")
    return text_subject(run, ids, words)


def with_marks(tokenizer: Any, text: str) -> list[int]:
    """A text between the marks of a model that fills gaps; without marks where the tokenizer has none."""
    from cutaway.data.text.special_tokens import encode_gaps

    try:
        return encode_gaps(tokenizer, text)
    except ValueError:
        return [int(i) for i in tokenizer.encode(text)]


def _answer(model: Any, ids: Ids) -> list[int]:
    from cutaway.models import generate

    end = getattr(model.spec, "end", None)
    most = _context(model)
    return generate(model, [int(i) for i in ids][:most], min(SHOWN // 2, most), end=end, temperature=0)[0]


def _context(model: nn.Module) -> int:
    """How many tokens a model has room for; many, if it does not say."""
    return getattr(getattr(model, "spec", None), "context", None) or 10**9


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


__all__ = ["SHOWN", "Subject", "any_subject", "pair_subject", "text_subject", "token_names", "with_marks"]
