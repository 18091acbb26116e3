r"""The subject of a look at a run: what goes into its model, and what a reader must know of it.

A text is cut to what a page can show, a table to a few rows. Without an input of yours it is data that the model was
not trained on, where there is some.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.tables.encoding import Encoded
from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace
from cutaway.tasks.abilities.dispatch import find_method

if TYPE_CHECKING:
    from cutaway.runs.run import Run

Ids = Sequence[int] | np.ndarray
SHOWN = 64  # tokens, or rows, at most
# Nothing is known of the text that an imported checkpoint was trained on. Repeated words let induction heads show.
_SENTENCE = "The cat sat on the mat. The dog sat on the rug. The cat sat on the"
_OUTPUT = ""  # the key under which a model's own output is remembered


@dataclass(frozen=True)
class Subject:
    """``arguments`` are those of the model, a batch of one text or of some rows; () if there is nothing to put in.

    ``words`` tell what it is. Of a text, ``tokens`` are its tokens one by one, ``text`` is what they read as together
    ("" for one after the other), and ``written`` are those that a decoder is given; of series, ``steps`` name those of
    the first one (dates, or numbers), and ``source`` is their file, if they were given; of a table, ``rows`` are its
    rows as they are encoded; of a graph, ``vertices`` are the numbers of those that a person asked for. ``perplexity``
    is that of maps by t-SNE, one or several to compare; (): one that fits the number of rows.
    """

    arguments: tuple[Any, ...] = ()
    words: str = ""
    tokens: tuple[str, ...] = ()
    text: str = ""
    written: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    rows: Encoded | None = None
    vertices: tuple[int, ...] = ()
    source: str | None = None
    perplexity: tuple[float, ...] = ()
    _remembered: dict[tuple[nn.Module, str], Tensor] | None = dataclasses.field(default=None, repr=False, compare=False)

    def remembering(self) -> "Subject":
        """A copy that keeps every value that it reads, so that several views of a page share one pass."""
        return dataclasses.replace(self, _remembered={})

    def read(self, model: nn.Module, *addresses: str) -> dict[str, Tensor]:
        """The values at some addresses when the model is given this, one pass, as tensors on the CPU.

        Of a value with parts, the first; of a module that is called several times, the first call.
        """
        known = {} if self._remembered is None else self._remembered
        if not all((model, address) in known for address in addresses):
            with torch.no_grad(), trace(model, *addresses, detach=True) as seen:
                output = model(*self.arguments)
            values = {address: seen.calls[address][0] for address in seen if seen.calls[address]}
            for address, value in (values | {_OUTPUT: output}).items():
                first = next(tensors(value), None)
                if first is not None:
                    known[model, address] = first.cpu()
            addresses = tuple(seen)
        return {address: known[model, address] for address in addresses if (model, address) in known}

    def output(self, model: nn.Module) -> Tensor:
        """What the model answers, on the CPU; of an answer with parts, the first."""
        known = {} if self._remembered is None else self._remembered
        if (model, _OUTPUT) not in known:
            with torch.no_grad():
                known[model, _OUTPUT] = next(tensors(model(*self.arguments))).cpu()
        return known[model, _OUTPUT]


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
    tokens, names = torch.tensor([ids], device=_device(run.model)), token_names(run.tokenizer, ids)
    return Subject((tokens,), words, names, _as_text(run.tokenizer, ids, names))


def _as_text(tokenizer: Any, ids: Sequence[int], names: Sequence[str]) -> str:
    """Tokens with their special ones as a text; with blanks between words where no token has any (WordPiece)."""
    joined = "".join(names)
    spaced = " ".join(names).replace(" ##", "")
    return spaced if tokenizer.decode(ids).count(" ") > joined.count(" ") else joined


def pair_subject(run: "Run", source: Ids, target: Ids, words: str) -> Subject:
    """A source for an encoder and what a decoder is given, which begins with its start token."""
    device, most = _device(run.model), _context(run.model)
    read, written = [int(i) for i in source][:most], [int(i) for i in target][: min(SHOWN, most)]
    arguments = (torch.tensor([read], device=device), torch.tensor([written], device=device))
    return Subject(arguments, words, token_names(run.tokenizer, read), written=token_names(run.tokenizer, written))


def row_subject(run: "Run", rows: Encoded, words: str) -> Subject:
    """Some rows of a table for its model."""
    count = len(rows.numbers)
    if not count:
        raise ValueError("a table to look at must have a row, got none; give it some")
    if count > SHOWN:
        words = f"the first {SHOWN} of {count:,} {words}"
        targets = None if rows.targets is None else rows.targets[:SHOWN]
        rows = Encoded(rows.numbers[:SHOWN], rows.categories[:SHOWN], targets)
    arguments = tuple(torch.from_numpy(part).to(_device(run.model)) for part in rows[:2])
    return Subject(arguments, words, rows=rows)


def subject_of(run: "Run", given: str | None = None) -> "Subject":
    """What `cutaway look` and the report put into the model: what was given, else data that it was not trained on.

    By default a text, if the model says that it takes one (`Model.input_kind`).
    """
    own = find_method(run, "subject")
    return subject_by_model(run, given) if own is None else own(given)


def subject_by_model(run: "Run", given: str | None) -> Subject:
    """The subject of a run whose recipe chooses none: a text in the form that its model takes (`Model.input_kind`)."""
    make = _BY_KIND.get(getattr(run.model, "input_kind", ""))
    if make is None or run.tokenizer is None:
        if given is not None:
            raise ValueError(
                f"an input is for runs that say what to make of it, got one for a run of {run.recipe.name!r}; "
                "leave it out"
            )
        return Subject()
    return make(run, _SENTENCE, "a sentence of ours") if given is None else make(run, given, "your text")


def _plain_text(run: "Run", text: str, words: str) -> Subject:
    return text_subject(run, run.tokenizer.encode(text), words)


def _masked_text(run: "Run", text: str, words: str) -> Subject:
    return text_subject(run, with_marks(run.tokenizer, text), words)


def _text_pair(run: "Run", text: str, words: str) -> Subject:
    """A source, and what the model itself answers to it."""
    from cutaway.models import generate

    model: Any = run.model
    ids = [int(i) for i in run.tokenizer.encode(text)]
    if not ids:
        raise ValueError("a text to look at must have a token, got none; give it some words")
    most, end = _context(model), getattr(model.spec, "end", None)
    (answer,) = generate(model, ids[:most], min(SHOWN // 2, most), end=end, temperature=0)
    return pair_subject(run, ids, [model.spec.start, *answer], f"{words}, and what the model makes of it")


_BY_KIND = {"text": _plain_text, "masked text": _masked_text, "text pair": _text_pair}


def with_marks(tokenizer: Any, text: str) -> list[int]:
    """A text between the special tokens of a model of masked tokens; without them where the tokenizer has none."""
    from cutaway.data.text.special_tokens import encode_gaps

    try:
        return encode_gaps(tokenizer, text)
    except ValueError:
        return [int(i) for i in tokenizer.encode(text)]


def _context(model: nn.Module) -> int:
    """How many tokens a model has room for; many, if it does not say."""
    return getattr(getattr(model, "spec", None), "context", None) or 10**9


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


__all__ = [
    "SHOWN",
    "Subject",
    "pair_subject",
    "row_subject",
    "subject_by_model",
    "text_subject",
    "token_names",
    "with_marks",
]
