"""A text in three parts: the tokens of a run, of a base, and what was held out."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from little import little_text

from cutaway.data.text.tokenizers import Characters
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.tasks.texts.corpus import CorpusTask
from cutaway.tasks.texts.masked_tokens import MaskedTokens


@pytest.fixture
def settings(tmp_path: Path) -> GPTRecipe:
    return GPTRecipe(data=str(little_text(tmp_path)), context=8)


def run_of(tokenizer: Any, compared: list[Any]) -> Any:
    return SimpleNamespace(tokenizer=tokenizer, expect_same_data=compared.append)


def test_the_data_of_a_run_is_in_its_own_tokens(settings: GPTRecipe):
    ours = CorpusTask(settings).parts
    others = Characters("".join(chr(i) for i in range(10, 123)))  # as another version of a library would make them
    assert others.key != ours.tokenizer.key
    for tokenizer in (others, ours.tokenizer):
        compared: list[Any] = []
        task = CorpusTask(settings, run_of(tokenizer, compared))
        assert task.parts.tokenizer.key == tokenizer.key
        text = Path(settings.data).read_text(encoding="utf-8")
        assert tokenizer.decode(task.parts.train[:20]) == text[:20]
        assert {fingerprint.digest for fingerprint in compared} == {ours.fingerprint.digest}


def test_what_is_held_out(settings: GPTRecipe):
    task = CorpusTask(settings)
    assert task.held_out is task.parts.validation
    assert task.count() == len(task.parts.train) // 8
    alone = CorpusTask(dataclasses.replace(settings, validation=0.0))
    assert alone.held_out is alone.parts.train
    assert "baseline" in task.facts()
    assert "baseline" not in alone.facts()  # which is measured on what was held out


def test_masks_are_tokens_of_a_text_that_brings_none(settings: GPTRecipe):
    masked = BERTRecipe(data=settings.data, tokenizer="characters", context=8)
    plain = CorpusTask(settings).parts.tokenizer
    assert MaskedTokens(masked).parts.vocabulary == plain.vocabulary + 4
    assert MaskedTokens(masked, tokenizer=plain).parts.tokenizer.key == plain.key  # those of a base as they are
