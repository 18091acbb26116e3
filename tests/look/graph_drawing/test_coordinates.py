"""Coordinates: nothing overlaps, groups hold what is in them, lines run from slot to slot."""

import itertools

import pytest
import torch
from look.graphed import all_boxes, overlap, tower
from torch import Tensor, nn

from cutaway.look.graph_drawing.svg import Drawing
from cutaway.look.graphs import Graph
from cutaway.look.graphs import graph as record

STATES = [{}, {"depth": 1}, {"depth": 2}, {"depth": 9}, {"open": "blocks.2"}, {"open": ("blocks.0.inner", "embed")}]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return tower()


@pytest.mark.parametrize("how", STATES, ids=str)
def test_no_two_boxes_overlap(graph: Graph, how: dict):
    boxes = all_boxes(Drawing(graph, **how))
    assert len(boxes) > 5
    for (_, one, frame), (_, other, around) in itertools.combinations(boxes, 2):
        if frame is around:
            assert not overlap(one, other)


@pytest.mark.parametrize("how", STATES, ids=str)
def test_groups_contain_their_members(graph: Graph, how: dict):
    for slot, box, frame in all_boxes(Drawing(graph, **how)):
        assert frame.left <= box.left, slot
        assert box.left + box.width <= frame.left + frame.width, slot
        assert frame.top <= box.top, slot
        assert box.bottom <= frame.bottom, slot


@pytest.mark.parametrize("how", STATES, ids=str)
def test_lines_run_down_from_box_to_box(graph: Graph, how: dict):
    for group, _, placed in Drawing(graph, **how).open_groups():
        for route in placed.routes:
            line = group.lines[route.bundle.lines[0]]
            tops = [y for _, top, bottom in route.stops for y in (top, bottom)]
            assert tops == sorted(tops)
            for slot, x, y in ((line.start, *route.stops[0][:2]), (line.stop, route.stops[-1][0], route.stops[-1][2])):
                box = placed.boxes[slot]
                assert box.left - 1e-6 <= x <= box.left + box.width + 1e-6
                assert y == pytest.approx(box.bottom if slot == line.start else box.top)


def test_lines_go_on_inside_an_open_group(graph: Graph):
    """Where a line ends on the border of an open group, one begins inside it."""
    for group, frame, placed in Drawing(graph, depth=9).open_groups():
        inner = [
            route.stops[0] for route in placed.routes if group.lines[route.bundle.lines[0]].start.startswith("in:")
        ]
        for x, top, _ in inner:
            assert top == pytest.approx(frame.top)
            assert frame.left < x < frame.left + frame.width


def test_the_same_every_time(graph: Graph):
    assert Drawing(graph).placed == Drawing(graph).placed


def test_a_folded_drawing_is_smaller(graph: Graph):
    sizes = [Drawing(graph, depth=depth).placed.height for depth in (1, 2, 3)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


class Halves(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x * 2


class Product(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.halves, self.product = Halves(), Product()

    def forward(self, x: Tensor) -> Tensor:
        return self.product(*self.halves(x))


def between(drawing: Drawing) -> list[tuple[int, ...]]:
    """The lines of each stroke between the two groups, as it is drawn."""
    lines = drawing.groups[0].lines
    strokes = [route.bundle.lines for route in drawing.placed.routes]
    return [
        numbers for numbers in strokes if lines[numbers[0]].start == "group:1" and lines[numbers[0]].stop == "group:2"
    ]


def test_several_values_between_folded_groups_are_one_line():
    drawn = record(Pair(), torch.randn(3))
    (both,) = between(Drawing(drawn, depth=1))
    assert len(both) == 2
    assert [len(one) for one in between(Drawing(drawn, open="halves"))] == [1, 1]
    assert [len(one) for one in between(Drawing(drawn, open="product"))] == [1, 1]
