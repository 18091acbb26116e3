"""Tuned on conversations: the loss is on answers alone."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bases import chats, tiny_gpt, word_tokenizer

import cutaway as cut
from cutaway import cli
from cutaway.data.text.chat.conversations import encode_conversations
from cutaway.tuning.tasks.chat import ChatBatch, answer_cost

TEMPLATE = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} [SEP] {% endfor %}" + (
    "{% if add_generation_prompt %}assistant {% endif %}"
)


def test_the_cost_is_that_of_answers_by_hand(tmp_path: Path):
    model = cut.from_pretrained(tiny_gpt(tmp_path / "gpt")).double().eval()
    tokenizer = word_tokenizer(("user", "assistant"))
    tokenizer.settings["chat_template"] = TEMPLATE
    model = cut.models.GPT(model.spec.but(vocabulary=tokenizer.vocabulary)).double().eval()
    told = [{"role": "user", "content": "the film"}, {"role": "assistant", "content": "was dull"}]
    texts = encode_conversations(tokenizer, [told], 32)
    words = ["user", "the", "film", "[SEP]", "assistant", "was", "dull", "[SEP]"]
    ids = [tokenizer.id_of(word) for word in words]
    assert texts.tokens[0].tolist() == ids
    assert texts.marks[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1], "the end of an answer is learned too"
    log_p = model(torch.tensor([ids])).log_softmax(-1)[0]
    by_hand = -sum(log_p[t, ids[t + 1]] for t in (4, 5, 6)) / 3
    cost = answer_cost(model, ChatBatch(np.array([0]), 3.0), texts)
    assert cost.item() == pytest.approx(by_hand.item(), rel=1e-5)


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
