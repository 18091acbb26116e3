"""Contents for a page: numbers where they are few, cells within a limit where they are many."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.look.charts.rasters import strongest
from cutaway.look.graph_drawing.contents import (
    SIDES,
    WRITTEN,
    Extent,
    as_rows,
    cells_a_side,
    extent_of,
    strongest_cells,
)
from cutaway.look.graph_drawing.contents import content_of as content_in
from cutaway.look.graph_drawing.packing import Levels, unpack


def content_of(tensor: torch.Tensor, side: int) -> dict | None:
    """What a page that shows only this would hold, with the bytes themselves."""
    store = Levels()
    content = content_in(tensor, side, store)
    return content if content is None or "numbers" in content else content | {"levels": unpack(store.packed())}


def levels(content: dict) -> np.ndarray:
    return np.frombuffer(content["levels"], dtype=np.uint8).reshape(content["rows"], content["columns"])


def values(content: dict) -> np.ndarray:
    """The numbers that the colours stand for, as the page reads them back."""
    return content["low"] + (levels(content) - 1.0) / 254 * (content["high"] - content["low"])


def test_few_numbers_are_written():
    assert content_of(torch.tensor([[1.0, 2.5], [0.0, -1.0]]), 64) == {"numbers": "[[1, 2.5],\n [0, −1]]"}
    assert set(content_of(torch.zeros(WRITTEN + 1), 64)) > {"levels", "rows", "words"}


def test_cells_stand_for_their_numbers():
    x = torch.randn(2, 7, 5)
    content = content_of(x, 64)
    assert (content["rows"], content["columns"], content["signed"]) == (14, 5, True)
    assert content["high"] == -content["low"] == pytest.approx(float(x.abs().max()), rel=1e-5)
    step = (content["high"] - content["low"]) / 254
    assert np.abs(values(content) - x.reshape(14, 5).numpy()).max() <= step / 2 + 1e-5
    assert content["words"] == "14 × 5, all axes but the last downwards."


def test_coarse_cells_keep_the_strongest():
    x = torch.zeros(100, 30)
    x[57, 3] = -4.0
    content = content_of(x, 16)
    assert content["block"] == [7, 2]
    assert (content["rows"], content["columns"]) == (15, 15)
    assert levels(content)[8, 1] == 1  # the lowest: −4
    assert content["words"] == "100 × 30; each cell is the strongest of 7 × 2."


def test_what_is_not_finite_is_left_blank():
    x = torch.ones(5, 6)
    x[1, 2], x[3, 4] = float("nan"), float("inf")
    content = content_of(x, 64)
    assert {tuple(at) for at in np.argwhere(levels(content) == 0)} == {(1, 2), (3, 4)}
    assert (content["low"], content["high"]) == (0.0, 1.0)


def test_kinds_of_numbers():
    assert content_of(torch.zeros(0, 3), 64) is None
    assert content_of(torch.zeros(30, dtype=torch.complex64), 64) is None
    assert content_of(torch.arange(30), 64)["high"] == 29
    assert content_of(torch.ones(30, dtype=torch.bool), 64)["high"] == 1
    assert content_of(torch.ones(30, dtype=torch.bfloat16), 64)["high"] == 1


@given(st.lists(st.lists(st.integers(1, 40), max_size=3), max_size=8), st.floats(1e-3, 0.05))
def test_all_cells_together_stay_within_the_limit(shapes: list[list[int]], limit: float):
    side = cells_a_side({Extent(i, *as_rows(tuple(shape))) for i, shape in enumerate(shapes)}, limit)
    assert side in SIDES
    size = 0
    for shape in shapes:
        content = content_of(torch.ones(shape), side)
        assert content is not None
        if "levels" in content:
            size += content["rows"] * content["columns"] * 4 / 3
            assert max(content["rows"], content["columns"]) <= side
    assert size <= limit * 1e6 or side == SIDES[-1]


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_cells_are_those_of_the_slow_way(tall: int, wide: int, rows: int, columns: int, transposed: bool):
    x = torch.randn(wide, tall).T if transposed else torch.randn(tall, wide)
    assert np.array_equal(strongest_cells(x, rows, columns), strongest(x.numpy(), rows, columns))


def test_cells_with_numbers_that_are_none():
    x = torch.ones(4, 4)
    x[0, 0], x[2, 2] = float("nan"), -float("inf")
    assert strongest_cells(x, 2, 2).tolist() == [[1.0, 1.0], [1.0, -float("inf")]]


def test_a_view_of_the_same_memory_counts_once():
    x = torch.randn(30, 40)
    assert extent_of(x) == extent_of(x.T)
    assert extent_of(x) != extent_of(x.clone())
    assert extent_of(x.to_sparse())[1:] == (30, 40)
