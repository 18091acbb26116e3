"""Wrong settings are told by name, with what came and a way out."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, Literal

import pytest

from cutaway.recipes.checks import expect_at_least, expect_heads, expect_settings, expect_share, expect_types


@dataclass(frozen=True)
class Settings:
    name: ClassVar[str] = "mine"
    steps: int = 10
    rate: float = 0.5
    data: str = "a.txt"
    fast: bool = False
    top: int | None = None
    shape: Literal["linear", "cosine"] = "linear"


def test_names():
    expect_settings(Settings, {"steps": 1, "shape": "cosine"})
    with pytest.raises(ValueError, match=r"one that the recipe has, got 'step'; did you mean steps?"):
        expect_settings(Settings, {"step": 1})
    with pytest.raises(ValueError, match="got 'zzz'; `cutaway train mine --help` lists them"):
        expect_settings(Settings, {"zzz": 1})


@pytest.mark.parametrize("good", [{}, {"rate": 1}, {"top": 3}, {"fast": True}, {"shape": "cosine"}])
def test_values_of_the_right_type(good: dict):
    expect_types(Settings(**good))


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"steps": 2.5}, "steps must be a whole number, got 2.5; try steps=10"),
        ({"steps": True}, "steps must be a whole number, got True; try steps=10"),
        ({"steps": "10"}, "steps must be a whole number, got '10'; try steps=10"),
        ({"rate": float("nan")}, "rate must be a finite number, got nan; try rate=0.5"),
        ({"rate": float("inf")}, "rate must be a finite number, got inf; try rate=0.5"),
        ({"data": 3}, "data must be text, got 3; try data='a.txt'"),
        ({"fast": 1}, "fast must be True or False, got 1; try fast=False"),
        ({"top": "x"}, "top must be a whole number or .*, got 'x'; try top=None"),
        ({"shape": "cosin"}, "shape must be one of linear, cosine, got 'cosin'; did you mean cosine?"),
        ({"shape": "up"}, "shape must be one of linear, cosine, got 'up'; pick one of these"),
    ],
)
def test_values_of_the_wrong_type(bad: dict, told: str):
    with pytest.raises(ValueError, match=told):
        expect_types(Settings(**bad))


def test_bounds():
    expect_at_least(Settings(steps=1), 1, "steps")
    with pytest.raises(ValueError, match="steps must be at least 1, got -5; try steps=10"):
        expect_at_least(Settings(steps=-5), 1, "steps")
    expect_share(Settings(rate=0.0), "rate")
    for rate in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"rate must be from 0 to below 1, got {rate}; 0 switches it off"):
            expect_share(Settings(rate=rate), "rate")


def test_heads_of_a_huge_width():
    with pytest.raises(ValueError, match="a multiple of heads, got width=2147483647, heads=3; try heads=1"):
        expect_heads(SimpleNamespace(width=2**31 - 1, heads=3))
