"""Tuned on conversations: the loss is on answers alone."""

import json
from pathlib import Path

import pytest
from tiny_bases import chats, tiny_gpt

import cutaway as cut
from cutaway import cli


def test_a_model_learns_to_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    data = chats(tmp_path / "chats.jsonl")
    settings = dict(full=True, rate=1e-2, epochs=15, batch=8, show="quiet", sample_tokens=2, evaluate_every=20)
    run = cut.tune(tiny_gpt(tmp_path / "gpt"), data=data, out=tmp_path / "run", **settings)
    assert run.recipe.name == "tuned-chat"
    rows = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert rows[-1] < rows[0] / 1.5
    assert "learned:" in run.about["data"]["summary"]
    again = cut.load(run.path)
    assert again.tokenizer.settings["chat_template"], "the run keeps the template that it learned"
    answer = again.generate("the film", tokens=3, temperature=0)
    assert answer
    capsys.readouterr()
    asked = ["--prompt", "the film", "--tokens", "3", "--temperature", "0"]
    assert cli.run(["generate", str(run.path), *asked]) == 0
    assert capsys.readouterr().out == f"{answer}\n", "an answer does not go on from the prompt"
    assert again.test()["loss"] < rows[0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1}, "messages, or a prompt and a response, got a in line 1"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "must have an answer.* got line 1"),
        ({"messages": ["Hi"]}, "a role and a content, got 'Hi' in line 1"),
        ({"prompt": "Hi", "response": " "}, "words to learn from, got an empty one in line 1"),
        ({"messages": [{"role": "user", "content": 3}]}, "both texts, got .'content', 'role'. in line 1"),
    ],
)
def test_what_is_no_conversation_is_told(tmp_path: Path, row: object, message: str):
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match=message):
        cut.tune(tiny_gpt(tmp_path / "gpt"), data=path, task="chat")
