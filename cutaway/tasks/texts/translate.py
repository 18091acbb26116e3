r"""The task of translating: pairs of a source and a target, and the translations of new texts.

    tokens         pairs are read as tokens of one vocabulary for both sides; longer ones than the context are left out
    exact, BLEU    of translations, beside every translation of the same source that the data has

`cutaway train transformer` and `cutaway train seq2seq` learn it (`translator.py`).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cutaway.data.text.pairs import Pairs, read_pairs
from cutaway.data.text.token_rows import TokenPairs
from cutaway.overriding import override
from cutaway.tasks.task import Files, Task
from cutaway.tasks.texts.bleu import bleu
from cutaway.tasks.texts.text_inputs import as_texts, read_lines

_WRITTEN = 8  # sources translated at every evaluation
_READABLE = 10  # tokens of each text of a pair to look at, about


class SourceText(NamedTuple):
    """A source, and every translation of it that the data has."""

    source: str
    references: list[str]


class Translations(Task):
    """Pairs of texts, from lines with a tab between source and target."""

    kind: ClassVar[str] = "texts/translate"
    parts: Pairs

    @override
    def read_parts(self) -> Pairs:
        pairs = self._read(self.settings.tokenizer)
        # The same settings make the same tokenizer of the same text, unless its library has learned something new.
        if self.run is not None and pairs.tokenizer.key != self.run.tokenizer.key:
            return self._read(self.run.tokenizer)
        return pairs

    def _read(self, tokenizer: Any) -> Pairs:
        settings = self.settings
        return read_pairs(settings.data, tokenizer, settings.validation, settings.test, encoding=settings.encoding)

    @property
    def tokenizer(self) -> Any:
        """Of both sides."""
        return self.parts.tokenizer if self.run is None else self.run.tokenizer

    @cached_property
    def train(self) -> TokenPairs:
        """The training pairs that the context holds."""
        return self.within(self.parts.train)

    @cached_property
    def validation(self) -> TokenPairs | None:
        """The validation pairs that the context holds; None if there are none to evaluate on."""
        return None if self.parts.validation is None else self.within(self.parts.validation)

    def within(self, pairs: TokenPairs) -> TokenPairs:
        """The pairs that the context holds, which must be some."""
        kept = pairs.within(self.settings.context)
        if not len(kept):
            longest = max(pairs.source.lengths.max(), pairs.target.lengths.max())
            raise ValueError(
                f"the context must hold some of the pairs, got context={self.settings.context} and only longer ones in "
                f"{self.parts.name}; try context={longest}"
            )
        return kept

    @override
    def facts(self) -> dict[str, Any]:
        facts, left_out = super().facts(), len(self.parts.train) - len(self.train)
        if left_out:
            words = f"training pairs longer than {self.settings.context} tokens"
            facts["summary"] += f"\nleft out: {left_out:,} {words}"
        return facts

    @override
    def files(self) -> Files:
        return {"tokenizer.json": self.parts.tokenizer.save}

    def metrics(self, written: Sequence[str], sources: Sequence[SourceText]) -> dict[str, float]:
        """The share of translations that is exactly a reference, and BLEU."""
        return translation_scores(written, sources)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part."""
        return learner.measure(self.within(self.parts.open_test()))

    def sources_to_write(self) -> list[SourceText]:
        """Some that are translated at every evaluation, of pairs that were not trained on if there are any."""
        return sources_of(self.train if self.validation is None else self.validation, self.tokenizer, _WRITTEN)

    def pair_to_show(self) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of a pair that can be read at a glance: its source, and its target without the end."""
        pairs = self.train if self.validation is None else self.validation
        batch = pairs.batch(np.array([choose_pair(pairs)]))
        return batch.source[0], batch.target[0, :-1]

    # What a person gives, and what they get.

    def read_inputs(self, source: str) -> list[str]:
        """The lines of a file, or a text itself."""
        return read_lines(source, self.settings.encoding)

    def inputs(self, source: Any) -> list[str]:
        """A text, several, or the lines of a file as a Path."""
        return as_texts(source)

    def answers(self, translations: Sequence[str], texts: Sequence[str]) -> list[dict[str, str]]:
        """Each text with its translation."""
        return [
            {"source": text, "translation": translation} for text, translation in zip(texts, translations, strict=True)
        ]


def translation_scores(written: Sequence[str], sources: Sequence[SourceText]) -> dict[str, float]:
    """The share of translations that is exactly one of the references, and BLEU.

    >>> sources = [SourceText("Go.", ["Ve.", "Vaya."]), SourceText("Run!", ["Huye."])]
    >>> translation_scores(["Ve.", "Corre."], sources)["exact"]
    0.5
    """
    exact = sum(text in one.references for text, one in zip(written, sources, strict=True)) / len(sources)
    return {"exact": exact, "bleu": bleu(written, [one.references for one in sources])}


def spread(count: int, limit: int) -> np.ndarray:
    """``limit`` of ``count`` row numbers, evenly spread."""
    return np.arange(limit) * count // limit


def sources_of(pairs: TokenPairs, tokenizer: Any, limit: int | None = None) -> list[SourceText]:
    """The different sources of some pairs, ``limit`` of them evenly spread, each with all of its translations."""
    known: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(pairs)):
        known.setdefault(tuple(pairs.source[i].tolist()), []).append(i)
    sources = list(known)
    if limit is not None and limit < len(sources):
        sources = [sources[i] for i in spread(len(sources), limit)]
    return [
        SourceText(tokenizer.decode(ids), [tokenizer.decode(pairs.target[i]) for i in known[ids]]) for ids in sources
    ]


def choose_pair(pairs: TokenPairs, length: int = _READABLE) -> int:
    """A pair whose two texts are about that long: long enough to show something, short enough to be read."""
    return int(np.argmin(np.abs(pairs.source.lengths - length) + np.abs(pairs.target.lengths - 1 - length)))
