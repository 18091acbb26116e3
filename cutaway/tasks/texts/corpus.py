r"""A text in three parts, the data of language models: its tokens, and what is reached on it without a model.

    trained   tokens by the tokenizer of the settings, which is made of the training part
    tuned     tokens of the base, given as ``tokenizer``

What is asked of the text is a task on top: `next_token.py`, `masked_tokens.py`.
"""

from typing import Any

from cutaway.data.text.corpus import Corpus, read_text
from cutaway.data.text.token_files import Tokens
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.overriding import override
from cutaway.tasks.task import Task
from cutaway.tasks.texts.unigrams import unigram_baseline


class CorpusTask(Task):
    """A text by some settings, in tokens of its own, or in those of a base."""

    special_tokens: bool = False  # whether a tokenizer of its own has those that mask a text
    parts: Corpus

    def __init__(self, settings: Any, run: Any = None, tokenizer: Tokenizer | None = None) -> None:
        super().__init__(settings, run)
        self.tokenizer = tokenizer

    @override
    def read_parts(self) -> Corpus:
        """The text in its three parts; that of a run in the run's own tokens."""
        if self.tokenizer is not None:
            return self._read(self.tokenizer)
        own = self._read(self.settings.tokenizer, self.special_tokens)
        if self.run is not None:
            self.run.expect_same_data(own.fingerprint)  # before its tokens are read from another text
        # The same settings make the same tokenizer of the same text, unless its library has learned something new.
        if self.run is None or own.tokenizer.key == self.run.tokenizer.key:
            return own
        return self._read(self.run.tokenizer, self.special_tokens)

    def _read(self, tokenizer: "str | Tokenizer", special_tokens: bool = False) -> Corpus:
        given, encoding = self.settings, self.settings.encoding
        shares = given.validation, given.test
        return read_text(given.data, tokenizer, *shares, encoding=encoding, special_tokens=special_tokens)

    @property
    def held_out(self) -> Tokens:
        """The validation part, which was not trained on; the training part where there is no other."""
        return self.parts.train if self.parts.validation is None else self.parts.validation

    @override
    def count(self) -> int:
        """Windows of the training text, side by side."""
        return max(1, self.parts.counts["train"] // self.settings.context)

    @override
    def facts(self) -> dict[str, Any]:
        baseline = unigram_baseline(self.parts.train, self.parts.validation, self.parts.vocabulary)
        return super().facts() | ({"baseline": baseline} if baseline else {})

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part."""
        return learner.text_metrics(learner.model, self.parts.open_test())
