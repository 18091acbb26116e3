"""Conversations as a task: parts by the template of a tokenizer, and those of runs made before this rule."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny_bases import chats, word_tokenizer

from cutaway.data.text.chat.conversations import PLAIN_TEMPLATE
from cutaway.tasks.texts.chat import Chat
from cutaway.tuning.tasks.chat import TunedChatRecipe


@pytest.fixture
def settings(tmp_path: Path) -> TunedChatRecipe:
    return TunedChatRecipe(data=str(chats(tmp_path / "chats.jsonl")))


@pytest.fixture
def tokenizer() -> object:
    found = word_tokenizer(("user", "assistant"))
    found.settings["chat_template"] = PLAIN_TEMPLATE
    return found


def test_its_parts_and_what_is_held_out(settings: TunedChatRecipe, tokenizer: object):
    task = Chat(settings, tokenizer=tokenizer)  # type: ignore[arg-type]
    assert task.count() == len(task.parts.splits.train) == 32
    assert task.held_out is task.parts.splits.validation
    assert task.facts()["together"]
    alone = Chat(dataclasses.replace(settings, validation=0.0), tokenizer=tokenizer)  # type: ignore[arg-type]
    assert alone.held_out is alone.parts.splits.train


def test_a_run_has_the_parts_that_it_was_made_with(settings: TunedChatRecipe, tokenizer: object, tmp_path: Path):
    text = (tmp_path / "chats.jsonl").read_text()
    (tmp_path / "chats.jsonl").write_text(text * 3)  # every conversation three times
    compared: list[object] = []
    old = SimpleNamespace(tokenizer=tokenizer, about={"data": {}}, expect_same_data=compared.append)
    made = {name: Chat(settings, run, tokenizer) for name, run in (("old", old), ("new", None))}  # type: ignore[arg-type]
    for name, together in (("old", False), ("new", True)):
        splits = made[name].parts.splits
        assert splits.validation is not None
        assert all(one not in splits.train for one in splits.validation) is together
    assert compared == [made["old"].parts.fingerprint]
