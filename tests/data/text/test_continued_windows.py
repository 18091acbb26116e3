"""Rows that go on, jump and begin anew; each batch a function of its number."""

import numpy as np
import pytest

from cutaway.data.text.continued_windows import ContinuedWindows

TEXT = np.arange(1000)


def test_rows_go_on_where_they_were_unless_fresh():
    stream = ContinuedWindows(TEXT, context=7, batch=5, jump=0.2, seed=3)
    before = stream.at(0)
    assert before.fresh.all()
    jumps = 0
    for step in range(1, 300):
        now = stream.at(step)
        assert now.number == step
        assert np.array_equal(now.targets, now.tokens + 1)
        assert np.array_equal(now.tokens[:, 1:], now.tokens[:, :-1] + 1)
        goes_on = now.tokens[:, 0] == before.targets[:, -1]
        assert goes_on[~now.fresh].all()
        jumps += int(now.fresh.sum())
        before = now
    ends = 299 * 5 * 7 / 993  # of the text, about so often
    assert abs(jumps - 0.2 * 299 * 5 - ends) < 5 * (299 * 5 * 0.2 * 0.8) ** 0.5


@pytest.mark.parametrize("jump", [0.0, 0.03, 1.0])
def test_any_batch_can_be_made_first(jump: float):
    """What a resumed run asks for: batch n without the n − 1 before it, and in any order."""
    make = lambda: ContinuedWindows(TEXT, context=7, batch=4, jump=jump, seed=1)
    stream = make()
    every = [stream.at(n) for n in range(120)]
    for n in (119, 0, 60, 61, 59):
        one, same = make().at(n), stream.at(n)
        for x, y, z in zip(one, every[n], same, strict=True):
            assert np.array_equal(x, y)
            assert np.array_equal(x, z)


def test_rows_that_never_jump_start_side_by_side():
    stream = ContinuedWindows(TEXT, context=10, batch=3, jump=0.0)
    assert stream.at(0).tokens[:, 0].tolist() == [0, 330, 660]
    assert stream.at(2).tokens[:, 0].tolist() == [20, 350, 680]
    late = stream.at(33)  # the last row has come to the end of the text, at 990 places
    assert late.tokens[:, 0].tolist() == [330, 660, 0]
    assert late.fresh.tolist() == [False, False, True]


def test_processes_share_the_rows():
    whole = ContinuedWindows(TEXT, 7, 6, 0.2, seed=2)
    shares = [ContinuedWindows(TEXT, 7, 6, 0.2, seed=2, rank=rank, world=2) for rank in range(2)]
    for step in (0, 5, 6):
        parts = [share.at(step) for share in shares]
        assert np.array_equal(np.concatenate([part.tokens for part in parts]), whole.at(step).tokens)
        assert np.array_equal(np.concatenate([part.fresh for part in parts]), whole.at(step).fresh)


def test_messages():
    with pytest.raises(ValueError, match=r"jump must be a probability, from 0 to 1, got 1.5; try jump=0.05"):
        ContinuedWindows(TEXT, 7, 4, jump=1.5)
    with pytest.raises(ValueError, match="the training text must hold more tokens than the context, got 1,000"):
        ContinuedWindows(TEXT, 1000, 4)
