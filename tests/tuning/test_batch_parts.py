"""Batches in parts: the same gradient, from less memory."""

import numpy as np
import pytest
import torch
from tiny_bases import chats, reviews, tiny_bert, tiny_gpt

import cutaway as cut
from cutaway.data.batches import Window
from cutaway.models import GPT, GPTSpec
from cutaway.tuning import batch_parts
from cutaway.tuning.batch_parts import bytes_of_token, count_parts, mean_parts, window_parts


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPT(GPTSpec.llama(vocabulary=11, width=8, depth=3, heads=2, context=16)).double()


def test_counts_by_hand(model, monkeypatch):
    size = 4 * (20 * 8 * 3 + 3 * 11)
    assert bytes_of_token(model) == size
    monkeypatch.setattr(batch_parts, "MEMORY", 10 * size)
    assert [count_parts(model, 4, longest) for longest in (1, 2, 3, 5, 6, 99)] == [1, 1, 2, 2, 3, 4]
    lengths = np.array([3, 5, 1, 4])
    parts = mean_parts(model, lengths)(np.array([1, 0, 3]))
    assert [(rows.tolist(), share) for rows, share in parts] == [([1, 0], 2 / 3), ([3], 1 / 3)]
    assert bytes_of_token(torch.nn.Linear(2, 2)) == 0
    assert count_parts(torch.nn.Linear(2, 2), 4, 10**9) == 1, "of what no one knows the size"


def test_gradients_of_parts_add_up(model, monkeypatch):
    from cutaway.tasks.texts.next_token import next_token_cost

    tokens = np.random.default_rng(0).integers(11, size=(5, 9))
    batch = Window(tokens[:, :-1], tokens[:, 1:])
    whole = torch.autograd.grad(next_token_cost(model, batch), list(model.parameters()))
    monkeypatch.setattr(batch_parts, "MEMORY", 16 * bytes_of_token(model))
    parts = window_parts(model)(batch)
    assert [len(part.tokens) for part, _ in parts] == [2, 2, 1]
    total = sum(next_token_cost(model, part) * share for part, share in parts)
    for a, b in zip(whole, torch.autograd.grad(total, list(model.parameters())), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", ["classify", "chat", "language", "tag"])
def test_a_run_in_parts_is_the_run(task, tmp_path, monkeypatch):
    data = tmp_path / "data.txt"
    if task == "classify":
        base, data = tiny_bert(tmp_path / "base", dropout=0.0), reviews(tmp_path / "data.csv")
    elif task == "tag":
        base, data = tiny_bert(tmp_path / "base", dropout=0.0), tmp_path / "data.conll"
        data.write_text("\n".join(f"the\tD\nfilm\tN\nwas\tV\n{'so fine' if i % 3 else 'a'}\tX\n" for i in range(60)))
    else:
        base = tiny_gpt(tmp_path / "base", llama=True)
        data.write_text("the film was a story and very so plot it " * 60)
        data = chats(tmp_path / "data.jsonl") if task == "chat" else data
    made = []
    for name, memory in (("whole", 1 << 30), ("parts", 1 << 16)):
        monkeypatch.setattr(batch_parts, "MEMORY", memory)
        settings = dict(task=task, lora=2, steps=4, batch=8, seed=3, show="quiet", rate=1e-3)
        if task in ("chat", "language"):
            settings["context"] = 16
        run = cut.tune(str(base), data=str(data), out=tmp_path / name, **settings)
        made.append((run.model.state_dict(), [row["loss"] for row in run.metrics if row["split"] == "train"]))
    (whole, losses), (parts, others) = made
    # A step of Adam moves a weight by at most about its rate, and the direction of a gradient near 0 by rounding.
    np.testing.assert_allclose(losses, others, rtol=1e-4)
    assert max(float((whole[name] - parts[name]).abs().max()) for name in whole) < 2e-3
