"""Augmentation of words: what each keeps, the share it changes, the same for the same seed, and bad input."""

from collections import Counter

import numpy as np
import pytest
import torch

from cutaway.training import delete_words, drop_tokens, drop_words, insert_words, near_words, replace_words, swap_words

ROWS = [[f"w{i}" for i in range(n)] for n in (1, 2, 50, 200)]
NEAR = {f"w{i}": (f"n{i}", f"m{i}") for i in range(0, 200, 2)}
ALL = {
    "drop": lambda rows, rate, g: drop_words(rows, rate, "?", g),
    "delete": lambda rows, rate, g: delete_words(rows, rate, g),
    "swap": lambda rows, rate, g: swap_words(rows, rate, g),
    "replace": lambda rows, rate, g: replace_words(rows, rate, NEAR, g),
    "insert": lambda rows, rate, g: insert_words(rows, rate, NEAR, g),
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("change", ALL.values(), ids=ALL)
def test_pure_and_seeded(change):
    before = [list(row) for row in ROWS]
    first, again, other = (change(ROWS, 0.3, seeded(seed)) for seed in (0, 0, 1))
    assert before == ROWS
    assert first == again != other
    assert change(ROWS, 0.0, seeded()) == ROWS
    assert change([], 0.5, seeded()) == []
    assert change([[]], 0.5, seeded()) == [[]]
    assert all(len(row) for row in change(ROWS, 1.0, seeded()))


def test_dropped_words_keep_their_places():
    new = drop_words(ROWS, 0.3, "?", seeded())
    assert [len(row) for row in new] == [len(row) for row in ROWS]
    assert all(a in (b, "?") for row, old in zip(new, ROWS) for a, b in zip(row, old))
    assert 0.2 < sum(word == "?" for row in new for word in row) / 253 < 0.4


def test_deleted_words_leave_the_order():
    new = delete_words(ROWS, 0.3, seeded())
    for row, old in zip(new, ROWS):
        numbers = [old.index(word) for word in row]
        assert numbers == sorted(numbers)
    assert 0.6 < sum(map(len, new)) / 253 < 0.8
    assert [len(row) for row in delete_words(ROWS, 1.0, seeded())] == [1, 1, 1, 1]


def test_swapped_words_stay():
    new = swap_words(ROWS, 0.3, seeded())
    assert [Counter(row) for row in new] == [Counter(row) for row in ROWS]
    moved = sum(a != b for a, b in zip(new[3], ROWS[3]))
    assert 40 < moved <= 120  # 60 swaps of two


def test_replaced_words_are_near():
    new = replace_words(ROWS, 0.5, NEAR, seeded())
    changed = [(a, b) for row, old in zip(new, ROWS) for a, b in zip(row, old) if a != b]
    assert all(a in NEAR[b] for a, b in changed)
    assert {a[0] for a, _ in changed} == {"n", "m"}
    assert 0.35 < len(changed) / sum(word in NEAR for row in ROWS for word in row) < 0.65


def test_inserted_words_come_on_top():
    new = insert_words(ROWS, 0.5, NEAR, seeded())
    for row, old in zip(new, ROWS):
        assert [word for word in row if word[0] == "w"] == old
    assert sum(map(len, new)) > 253 + 40


def test_tokens_of_a_batch():
    tokens = torch.arange(2, 2002).view(2, 1000)
    keep = torch.zeros(2, 1000, dtype=torch.bool)
    keep[:, :500] = True
    new = drop_tokens(tokens, 0.25, unknown=1, keep=keep, generator=seeded())
    assert torch.equal(new[:, :500], tokens[:, :500])
    assert 0.2 < (new[:, 500:] == 1).float().mean() < 0.3
    assert torch.equal(new, drop_tokens(tokens, 0.25, 1, keep, seeded()))


def test_near_words_of_vectors():
    vectors = np.array([[1, 0], [1, 0.1], [1, 0.3], [0, 1], [-1, 0]])
    near = near_words(list("abcde"), vectors, count=1, least=0.9)
    assert near == {"a": ("b",), "b": ("a",), "c": ("b",), "d": (), "e": ()}


def test_numbers_are_words_too():
    assert delete_words([[3, 1, 4]], 0.0) == [[3, 1, 4]]


def test_bad_input():
    with pytest.raises(ValueError, match="rate must be a probability from 0 to 1, got 30"):
        drop_words(ROWS, 30, "?")
    with pytest.raises(ValueError, match=r"rows must be lists of words, got text; split it, as in \[text.split"):
        swap_words(["a b c"], 0.1)
    with pytest.raises(ValueError, match="words and vectors must go together, got 2 and 3"):
        near_words(["a", "b"], np.eye(3))
