r"""Splits of data into train, validation and test parts.

The parts are disjoint and together hold all of the data. One rule holds for all texts, whether they have a label, tags,
an answer or a partner: texts that read the same are in one part (`split_groups`), so that no model is tested on what it
learned. Train and validation are attributes; the test part is opened
by `open_test()`, which counts its calls: a model that was tuned on test data has no test left.
Notes: N0 §1.3, N1.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Int, Shaped

from cutaway.data.seeded_draws import draw_permutation
from cutaway.overriding import override

T = TypeVar("T")


class Splits(Generic[T]):
    """The parts of some data. ``validation`` is None if there is none; ``test`` is a function that opens the test."""

    def __init__(self, name: str, train: T, validation: T | None, test: Callable[[], T] | None) -> None:
        self.name = name
        self.train = train
        self.validation = validation
        self._test = test
        self.test_reads = 0

    @property
    def has_test(self) -> bool:
        return self._test is not None

    def open_test(self) -> T:
        """The test part. For the end, once: `cutaway test` calls this and the run records it."""
        if self._test is None:
            raise ValueError(
                f"open_test needs a test split, got {self.name} with none; open the data with test above 0"
            )
        self.test_reads += 1
        return self._test()

    @override
    def __repr__(self) -> str:
        test = "none" if self._test is None else f"read {self.test_reads}×" if self.test_reads else "closed"
        validation = "none" if self.validation is None else "open"
        return f"Splits({self.name}: train open, validation {validation}, test {test})"


def expect_shares(validation: float, test: float) -> None:
    """The shares of validation and test leave something to train on."""
    if not (0 <= validation < 1 and 0 <= test < 1 and validation + test < 1):
        raise ValueError(
            f"validation and test must be shares of the data from 0 to 1 that leave some for training, got "
            f"validation={validation}, test={test}; try validation=0.1, test=0.1"
        )


def split_points(count: int, validation: float, test: float) -> tuple[int, int]:
    """Where train ends and where validation ends, of ``count`` things in order.

    Shares are taken as the decimals that they are written as: 0.1 is a tenth, so that test=0 leaves exactly nothing.

    >>> split_points(1000, 0.1, 0.1)
    (800, 900)
    """
    expect_shares(validation, test)
    v, t = Fraction(repr(float(validation))), Fraction(repr(float(test)))
    return math.floor(count * (1 - v - t)), math.floor(count * (1 - t))


def split_rows(
    count: int,
    validation: float,
    test: float,
    seed: int = 0,
    classes: Shaped[np.ndarray, "n"] | None = None,
) -> tuple[Int[np.ndarray, "a"], Int[np.ndarray, "b"], Int[np.ndarray, "c"]]:
    """Row numbers of train, validation and test, drawn at random, each in ascending order.

    With ``classes``, one for each row, every part has each class in its share, up to a row (stratified). The only
    row of a class is in train, if train has more than half of all rows.
    """
    order = draw_permutation(seed, "split", 0, count)
    if classes is not None:
        # Rows of a class spread evenly over the whole order: the r-th of m rows goes to place (r + ½) / m. As each
        # part is a stretch of that order, it holds each class in proportion.
        _, labels, sizes = np.unique(classes, return_inverse=True, return_counts=True)
        places = np.empty(count)
        for label, size in enumerate(sizes):
            rows = order[labels[order] == label]
            places[rows] = (np.arange(size) + 0.5) / size
        order = order[np.argsort(places[order], kind="stable")]
    a, b = split_points(count, validation, test)
    return np.sort(order[:a]), np.sort(order[a:b]), np.sort(order[b:])


def text_key(text: str) -> str:
    """One key for texts that read the same: case, white space and how characters are composed make no difference.

    >>> text_key(" Cafe\u0301  ouvert ") == text_key("café ouvert")
    True
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def split_groups(
    keys: Sequence[Hashable],
    validation: float,
    test: float,
    seed: int = 0,
    classes: Shaped[np.ndarray, "n"] | None = None,
) -> tuple[tuple[Int[np.ndarray, "_"], ...], Int[np.ndarray, "n"]]:
    """Row numbers of the parts as by `split_rows`, rows with an equal key in one part; and the first row of each key.

    Groups are drawn whole, so the shares are those of the groups; ``classes`` counts the class of a group's first row.
    Without equal keys the parts are those of `split_rows`.

    >>> [part.tolist() for part in split_groups(["a", "b", "a", "c", "b"], 0.4, 0.0)[0]]
    [[0, 2], [1, 3, 4], []]
    """
    first: dict[Hashable, int] = {}
    firsts = np.array([first.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int64)
    alone = np.array(sorted(first.values()), dtype=np.int64)
    part_of = np.zeros(len(keys), dtype=np.int64)
    drawn = split_rows(len(alone), validation, test, seed, None if classes is None else classes[alone])
    if len(alone) == 1 < len(keys):  # all are the same: there is something to learn from, and nothing to hold out
        drawn = np.arange(1), np.arange(0), np.arange(0)
    for number, rows in enumerate(drawn):
        part_of[alone[rows]] = number
    part_of = part_of[firsts]
    return tuple(np.flatnonzero(part_of == number) for number in range(3)), firsts


def told_repeats(firsts: Int[np.ndarray, "n"], what: str) -> list[str]:
    """The line that says how many rows come again, by the first row of each; none if no row does.

    >>> told_repeats(np.array([0, 1, 0]), "texts")
    ['1 texts come again; each stays in one part, so that none is tested on what it learned']
    """
    again = int((firsts != np.arange(len(firsts))).sum())
    rule = "each stays in one part, so that none is tested on what it learned"
    return [f"{again:,} {what} come again; {rule}"] if again else []


__all__ = ["Splits", "expect_shares", "split_groups", "split_points", "split_rows", "text_key", "told_repeats"]
