r"""The task of word vectors: words in running text, each to be guessed from those around it.

    loss            of the objective, on text that was not trained on
    baseline        each word guessed by its frequency alone
    similarity      agreement with people's ratings of pairs of words, and analogies solved, where files are given
    words.txt       the words and how often each was there, in the run folder

`cutaway train wordvectors` learns it (`word2vec.py`); `cutaway import vectors.txt` makes a run of vectors that were
learned elsewhere, of which the words alone are known.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import WindowDraws, WordChunk
from cutaway.data.words.word_streams import WordCorpus, read_counted_words, read_words, write_counted_words
from cutaway.data.words.word_tests import Analogy, RatedPair, read_analogies, read_rated_pairs
from cutaway.overriding import override
from cutaway.tasks.task import Files, Task
from cutaway.tasks.words.word_scores import analogies, similarity

WORDS = "words.txt"  # in the run folder


class CountedWords(NamedTuple):
    """Words, and how often each was there."""

    words: Sequence[str]
    counts: np.ndarray


class KnownWords(Task):
    """The words of a run, without the text that they come from."""

    @cached_property
    def words(self) -> CountedWords:
        """The words of a run, in the order of its vectors."""
        return CountedWords(*read_counted_words(self.file_of_run(WORDS, "of word vectors")))


class WordsInContext(KnownWords):
    """A text as words in three parts."""

    kind: ClassVar[str] = "words/vectors"
    parts: WordCorpus

    @override
    def read_parts(self) -> WordCorpus:
        settings = self.settings
        return read_words(
            settings.data,
            settings.min_count,
            settings.validation,
            settings.test,
            by=settings.words,
            lower=not settings.keep_case,
            phrases=settings.phrases,
            threshold=settings.phrase_threshold,
            lines=not settings.across_lines,
            encoding=settings.encoding,
        )

    @cached_property
    def tests(self) -> "WordTests":
        """Rated pairs and analogies, where the settings name files of them."""
        return WordTests(
            read_rated_pairs(self.settings.similarity) if self.settings.similarity else None,
            read_analogies(self.settings.analogies) if self.settings.analogies else None,
        )

    @override
    def facts(self) -> dict[str, Any]:
        baseline = frequency_baseline(self.parts.validation, self.parts.counts, self.settings)
        return super().facts() | ({"baseline": baseline} if baseline else {})

    @override
    def files(self) -> Files:
        data = self.parts
        return {WORDS: lambda path: write_counted_words(path, data.words, data.counts.tolist())}

    def scores(self, words: Sequence[str], matrix: np.ndarray) -> dict[str, float]:
        """Similarity and analogies, where their files are given."""
        return word_scores(words, matrix, self.tests)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """The loss of the test part, and the scores."""
        rows = learner.word_rows()
        return learner.loss(self.parts.open_test()) | self.scores(rows.words, rows.matrix)


class WordTests(NamedTuple):
    """Rated pairs of words and analogies; None where there are none."""

    pairs: list[RatedPair] | None
    questions: list[Analogy] | None


def word_scores(words: Sequence[str], matrix: np.ndarray, tests: WordTests) -> dict[str, float]:
    """Similarity and analogies, with how many pairs and questions had vectors."""
    found: dict[str, float] = {}
    if tests.pairs is not None:
        alike = similarity(words, matrix, tests.pairs)
        found |= {"similarity": alike.correlation, "similarity_pairs": alike.pairs}
    if tests.questions is not None:
        solved = analogies(words, matrix, tests.questions)
        found |= {"analogies": solved.accuracy, "analogy_questions": solved.questions}
    return found


def frequency_baseline(tokens: Tokens | None, counts: np.ndarray, settings: Any) -> dict[str, Any]:
    r"""The loss of guessing each word by its frequency alone, whatever stands around it.

    full, hierarchical    −log p_w
    negative sampling     b_w = log p_w − log q_w − log k, the best score of a word that does not depend on z
                          −log σ(b_w) − k Σ_v q_v log σ(−b_v)
    """
    if tokens is None or len(tokens) < 2 or settings.output in ("sampled", "nce"):
        return {}
    draws = WindowDraws(tokens, counts, settings.window, settings.sample, seed=0)
    seen = np.bincount(
        np.concatenate([s.words for s in draws.stretches(WordChunk(0, len(tokens)))]), minlength=len(counts)
    )
    thinned = counts * WindowDraws(tokens, counts, 1, settings.sample).keep
    p = thinned / thinned.sum()
    if settings.output == "negative":
        q = counts**0.75 / (counts**0.75).sum()
        b, k = np.log(p / q / settings.negatives), settings.negatives
        losses = np.logaddexp(0, -b) + k * (q * np.logaddexp(0, b)).sum()
    else:
        losses = -np.log(p)
    rule = "each word by its frequency, whatever stands around it"
    return {"rule": rule, "metrics": {"loss": float((seen * losses).sum() / max(seen.sum(), 1))}}
