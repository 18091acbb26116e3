"""Answers that a trained model learns: the cost is on their tokens alone."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_bases import tiny_gpt, word_tokenizer

import cutaway as cut
from cutaway.data.text.chat.conversations import encode_conversations
from cutaway.tuning.learners.chat import ChatBatch, answer_cost

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
