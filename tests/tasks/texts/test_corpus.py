"""A text in three parts: the tokens of a run, of a base, and what was held out."""

from types import SimpleNamespace
from typing import Any

import pytest

from cutaway.tasks.texts import corpus
from cutaway.tasks.texts.corpus import CorpusTask
from cutaway.tasks.texts.masked_tokens import MaskedTokens

SETTINGS = SimpleNamespace(data="a text", tokenizer="characters", validation=0.1, test=0.0, encoding="utf-8", context=4)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, bool]]:
    """Notes the tokenizers that a text is read by, and whether it gets special tokens."""
    seen: list[tuple[Any, bool]] = []

    def read_text(data: str, tokenizer: Any, *shares: float, encoding: str, special_tokens: bool) -> Any:
        assert (data, shares, encoding) == ("a text", (0.1, 0.0), "utf-8")
        seen.append((tokenizer, special_tokens))
        made = SimpleNamespace(key="ours") if tokenizer == "characters" else tokenizer
        counts = {"train": 9, "validation": 0, "test": 0}
        return SimpleNamespace(tokenizer=made, fingerprint="same", train=[1], validation=None, counts=counts)

    monkeypatch.setattr(corpus, "read_text", read_text)
    return seen


def test_the_data_of_a_run_is_in_its_own_tokens(read: list[tuple[Any, bool]]):
    others, compared = SimpleNamespace(key="others"), []
    run = SimpleNamespace(tokenizer=others, expect_same_data=compared.append)
    task = CorpusTask(SETTINGS, run)
    assert task.parts.tokenizer is others
    assert read == [("characters", False), (others, False)]
    assert compared == ["same"]
    assert task.held_out == [1]
    assert task.count() == 2


def test_equal_tokens_are_not_read_again(read: list[tuple[Any, bool]]):
    run = SimpleNamespace(tokenizer=SimpleNamespace(key="ours"), expect_same_data=lambda fingerprint: None)
    assert MaskedTokens(SETTINGS, run).parts.tokenizer.key == "ours"
    assert read == [("characters", True)]


def test_the_tokens_of_a_base_are_taken_as_they_are(read: list[tuple[Any, bool]]):
    theirs = SimpleNamespace(key="theirs")
    assert MaskedTokens(SETTINGS, tokenizer=theirs).parts.tokenizer is theirs
    assert read == [(theirs, False)]
