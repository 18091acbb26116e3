"""Batches: by hand, resumed bit for bit, shared out among processes, and what they cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.batches import ShuffledRows, Windows, every_window
from cutaway.data.tables.encoding import Encoded, TableBatches
from cutaway.data.text.masking import MaskedBatches, Masking
from cutaway.data.text.special_tokens import SpecialTokens
from cutaway.data.text.token_files import Tokens
from cutaway.data.text.token_rows import PairBatches, TokenPairs, TokenRows

TOKENS = np.arange(1000, dtype=np.uint16)


def make_pairs(count=101, seed=0):
    random = np.random.default_rng(seed)
    rows = [[random.integers(3, 50, random.integers(1, 20)) for _ in range(count)] for _ in range(2)]
    return TokenPairs(TokenRows.from_rows(rows[0]), TokenRows.from_rows(rows[1]))


def make_table(count=53):
    random = np.random.default_rng(0)
    return Encoded(
        random.normal(size=(count, 3)).astype(np.float32), random.integers(0, 9, (count, 2)), np.arange(count)
    )


STREAMS = {
    "windows": lambda **options: Windows(TOKENS, 8, 12, **options),
    "rows": lambda **options: ShuffledRows(53, 12, **options),
    "table": lambda **options: TableBatches(make_table(), 12, **options),
    "pairs": lambda **options: PairBatches(make_pairs(), 12, **options),
    "gaps": lambda **options: MaskedBatches(
        Tokens(TOKENS), Masking(SpecialTokens(1000, 1001, 1002, "[MASK]"), 1003, 10), 12, **options
    ),
}


def arrays(batch):
    return [batch] if isinstance(batch, np.ndarray) else list(batch)


def same(a, b):
    return len(arrays(a)) == len(arrays(b)) and all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b)))


@pytest.fixture(params=STREAMS)
def stream(request):
    return STREAMS[request.param]


@pytest.mark.parametrize("stop", [0, 1, 7, 30])
def test_restored_batches_are_those_of_an_unbroken_run(stream, stop):
    unbroken = stream(seed=3)
    expected = [next(unbroken) for _ in range(40)]  # several epochs of the 53 rows and 101 pairs
    first = stream(seed=3)
    for i in range(stop):
        assert same(next(first), expected[i])
    state = first.state()
    assert state == {"step": stop}
    second = stream(seed=3)
    second.restore(state)
    for i in range(stop, 40):
        assert same(next(second), expected[i])


def test_a_batch_depends_on_its_number_alone(stream):
    one, other = stream(), stream()
    forwards = [one.at(i) for i in range(20)]
    backwards = [other.at(i) for i in reversed(range(20))][::-1]
    assert all(same(a, b) for a, b in zip(forwards, backwards))


def test_seeds_and_steps_differ(stream):
    assert not same(stream(seed=0).at(0), stream(seed=1).at(0))
    assert not same(stream(seed=0).at(0), stream(seed=0).at(1))


@pytest.mark.parametrize("world", [2, 3, 4])
def test_shares_put_together_are_the_whole_batch(stream, world):
    whole, shares = stream(), [stream(rank=rank, world=world) for rank in range(world)]
    for step in (0, 1, 9, 17):
        parts = [arrays(share.at(step)) for share in shares]
        for i, expected in enumerate(arrays(whole.at(step))):
            if isinstance(expected, float):  # what a process predicts in the mean
                assert sum(part[i] for part in parts) == pytest.approx(expected)
            else:
                assert np.array_equal(np.concatenate([part[i] for part in parts]), expected)


def test_a_window_and_what_follows():
    batch = Windows(TOKENS, context=8, batch=5).at(0)
    assert batch.tokens.shape == batch.targets.shape == (5, 8)
    assert batch.tokens.dtype == batch.targets.dtype == np.int64
    assert np.array_equal(batch.targets, batch.tokens + 1)  # token i of the text is i
    assert np.array_equal(np.diff(batch.tokens), np.ones((5, 7)))


def test_windows_reach_the_first_and_the_last_token():
    windows = Windows(np.arange(12, dtype=np.uint16), context=9, batch=64)
    batch = windows.at(0)
    assert set(batch.tokens[:, 0]) == {0, 1, 2}
    assert batch.targets.max() == 11


@given(st.integers(2, 60), st.integers(1, 20), st.integers(1, 7))
def test_evaluation_predicts_each_token_once(count, context, batch):
    tokens = np.arange(count, dtype=np.uint16)
    if count <= context:
        return
    found = list(every_window(tokens, context, batch))
    assert np.concatenate([window.targets.ravel() for window in found]).tolist() == list(range(1, count))
    assert np.concatenate([window.tokens.ravel() for window in found]).tolist() == list(range(count - 1))
    assert all(len(window.tokens) <= batch for window in found)


@given(st.integers(1, 40), st.integers(1, 50))
def test_every_row_once_in_each_epoch(count, batch):
    rows = ShuffledRows(count, batch)
    stream = np.concatenate([next(rows) for _ in range(-(-3 * count // batch))])
    for epoch in range(3):
        assert sorted(stream[epoch * count : (epoch + 1) * count]) == list(range(count))
    assert rows.epoch(1) == batch / count


def test_table_batches_keep_rows_together():
    table = make_table()
    batch = TableBatches(table, 12).at(2)
    for row, target in enumerate(batch.targets):
        assert np.array_equal(batch.numbers[row], table.numbers[target])
        assert np.array_equal(batch.categories[row], table.categories[target])
    without = TableBatches(table._replace(targets=None), 12).at(2)
    assert without.targets is None
    assert np.array_equal(without.numbers, batch.numbers)


def test_torch_takes_them_as_they_are():
    torch = pytest.importorskip("torch")
    batch = Windows(TOKENS, 8, 5).at(0)
    assert torch.equal(torch.from_numpy(batch.targets), torch.from_numpy(batch.tokens) + 1)


def test_bad_numbers():
    with pytest.raises(ValueError, match="batch must be above 0, got 0; try batch=32"):
        ShuffledRows(5, 0)
    with pytest.raises(
        ValueError, match="batch must be a multiple of world, got batch=10, world=4; try batch=8 or batch=12"
    ):
        ShuffledRows(5, 10, world=4)
    with pytest.raises(ValueError, match="batch must be a multiple of world, got batch=2, world=4; try batch=4"):
        ShuffledRows(5, 2, world=4)
    with pytest.raises(ValueError, match="rank must lie from 0 to world - 1, got rank=2, world=2; count ranks from 0"):
        ShuffledRows(5, 2, rank=2, world=2)
    with pytest.raises(ValueError, match="batches need at least one row, got 0; use a larger table"):
        ShuffledRows(0, 2)
    with pytest.raises(ValueError, match="context must be above 0, got 0; try context=64"):
        Windows(TOKENS, 0, 2)


@pytest.mark.parametrize("count", [2, 64])
def test_text_shorter_than_the_context(count):
    tokens = np.zeros(count, np.uint16)
    rule = f"must hold more tokens than the context, got {count} tokens for context=64"
    way = f"use a longer text or context={count - 1} at most"
    with pytest.raises(ValueError, match=f"the training text {rule}; {way}"):
        Windows(tokens, 64, 2)
    with pytest.raises(ValueError, match=f"the text to evaluate on {rule}; {way}"):
        list(every_window(tokens, 64, 2))
    assert Windows(np.zeros(65, np.uint16), 64, 2).at(0).tokens.shape == (2, 64)


def test_no_text_to_speak_of():
    with pytest.raises(ValueError, match="got 1 tokens for context=64; use a longer text of at least a few lines"):
        Windows(np.zeros(1, np.uint16), 64, 2)
