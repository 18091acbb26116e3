"""Each check passes what is right, and says rule, value and way out to what is wrong."""

import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.blocks import checks

RIGHT: list[Callable[[], None]] = [
    lambda: checks.expect_float("x", torch.ones(2)),
    lambda: checks.expect_width("x", torch.ones(5, 3), 3),
    lambda: checks.expect_positive(rate=0.1),
    lambda: checks.expect_even(width=4),
    lambda: checks.expect_probability(rate=1.0),
    lambda: checks.expect_choice("order", "pre", ["pre", "post"]),
    lambda: checks.expect_items("x", torch.ones(1)),
    lambda: checks.expect_axis("x", torch.ones(2, 3), -2),
    lambda: checks.expect_same_shape("x", torch.ones(2), "y", torch.zeros(2)),
]
WRONG: dict[str, Callable[[], None]] = {
    "x must be a float tensor, got torch.int64; convert it with x.float()": lambda: checks.expect_float(
        "x", torch.ones(2, dtype=torch.long)
    ),
    "the last axis of x must have width 3, got shape (5, 4); give it shape (..., 3)": lambda: checks.expect_width(
        "x", torch.ones(5, 4), 3
    ),
    "rate must be above 0, got nan; try rate=1": lambda: checks.expect_positive(width=3, rate=float("nan")),
    "width must be even, got 5; try width=6": lambda: checks.expect_even(width=5),
    "rate must be a probability from 0 to 1, got 30; for a percentage divide by 100": lambda: checks.expect_probability(
        rate=30
    ),
    "order must be one of pre, post, got 'mid'; pick one of these": lambda: checks.expect_choice(
        "order", "mid", ["pre", "post"]
    ),
    "x must hold at least one element, got shape (0, 3); skip empty batches": lambda: checks.expect_items(
        "x", torch.ones(0, 3)
    ),
    "axis must be from -2 to 1 for x, got axis=2; try axis=-1": lambda: checks.expect_axis("x", torch.ones(2, 3), 2),
    "axis 0 of x must hold at least one entry, got shape (0, 3); choose another axis": lambda: checks.expect_axis(
        "x", torch.ones(0, 3), 0
    ),
    "x and y must have one shape, got (2,) and (3,); reshape one of them": lambda: checks.expect_same_shape(
        "x", torch.ones(2), "y", torch.ones(3)
    ),
}


@pytest.mark.parametrize("check", RIGHT, ids=range(len(RIGHT)))
def test_right_passes(check: Callable[[], None]):
    check()


@pytest.mark.parametrize(("message", "check"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_is_told(message: str, check: Callable[[], None]):
    with pytest.raises(ValueError, match=re.escape(message)):
        check()


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 3))
def test_near_divisors_are_the_nearest(number: int, near: int, count: int):
    """Against all divisors, sorted by how far they are."""
    divisors = [n for n in range(1, number + 1) if number % n == 0]
    nearest = sorted(divisors, key=lambda n: abs(n - near))[:count]
    assert checks.near_divisors(number, near, count) == sorted(nearest)


def test_hints_about_huge_sizes():
    """A prime of 19 digits: trying every number up to it would take years."""
    prime = 2**61 - 1
    assert checks.near_divisors(prime, 3) == [1]
    assert checks.near_divisors(prime, 10**9) == [1]
    assert checks.near_divisors(6, prime, 1) == [6]
