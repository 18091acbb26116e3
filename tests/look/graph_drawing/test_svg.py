"""The drawing as SVG: well formed, everything once, what it says equal to the graph's, and visible."""

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
import torch
from look.graphed import EVIL, SPACE, Named, neuron, slots_in, tower
from look.rendered import Tags, expect_drawn, expect_self_contained, image_of, words_in, words_of

from cutaway.look import Page, Section, graph_picture
from cutaway.look.graph_drawing.folding import Group
from cutaway.look.graph_drawing.svg import MOST, Drawing, draw_svg
from cutaway.look.graphs import Graph, graph


@pytest.fixture(scope="module")
def tall() -> Graph:
    return tower()


def edges_in(svg: str) -> list[int]:
    """The edges that the lines with a tip carry: those that end there."""
    lines = [g for g in ElementTree.fromstring(svg).iter(f"{SPACE}g") if "data-edges" in g.attrib]
    ending = [g for g in lines if any(part.attrib["class"] == "tip" for part in g)]
    return [int(number) for g in ending for number in g.attrib["data-edges"].split()]


@pytest.mark.parametrize("how", [{}, {"depth": 1}, {"depth": 2}, {"open": "blocks.1.inner"}], ids=str)
def test_every_edge_ends_once_whatever_is_folded(tall: Graph, how: dict):
    drawing = Drawing(tall, **how)
    homes = {node.index: group for group in drawing.groups for node in group.parts if hasattr(node, "inputs")}
    counts = Counter(edges_in(drawing.svg("x")))
    assert set(counts.values()) == {1}
    for i, edge in enumerate(tall.edges):
        around = homes[edge.consumer.index].above
        made = edge.value.producer
        inside = [] if made is None else homes[made.index].above
        folded = next((group for group in around if group.number not in drawing.open), None)
        hidden = folded is not None and (folded in inside or f"value:{edge.value.index}" in _slots_under(folded))
        assert counts[i] == (0 if hidden else 1)


def _slots_under(group: Group) -> set[str]:
    return set(group.slots).union(*(_slots_under(part) for part in group.inner))


def test_every_operator_and_value_is_drawn_once(tall: Graph):
    drawn = Counter(slots_in(draw_svg(tall, depth=9)))
    assert set(drawn.values()) == {1}
    sources = {f"value:{value.index}" for value in tall.values if value.producer is None}
    operators = {f"op:{node.index}" for node in tall.nodes}
    assert set(drawn) == operators | sources | {f"end:{value.index}" for value in tall.outputs}


def test_folded_modules_hide_what_is_in_them(tall: Graph):
    svg = draw_svg(tall, depth=1)
    assert Counter(slot.split(":")[0] for slot in slots_in(svg)) == {"value": 2, "group": 2, "op": 1, "end": 1}
    assert slots_in(svg, "frame") == []
    assert slots_in(draw_svg(tall, "blocks.0"), "frame") == ["group:10", "group:2"]  # the stack, and the block in it


def test_values_and_deltas_are_the_graphs():
    words = words_in(draw_svg(neuron()))
    assert Counter(words)["δ 0.25"] == 3
    assert {"w", "x", "b", "mul", "add", "sigmoid", "output", "0.5", "δ 0.125", "δ 1"} <= set(words)


def test_dashed_where_no_gradient_flows():
    """z is detached: its line and those before it are dashed, the other's are not."""
    g = graph(lambda x, y: x + (2 * y).detach(), torch.tensor(1.0), torch.tensor(1.0)).backward()
    svg = ElementTree.fromstring(draw_svg(g))
    still = [part.attrib["data-edges"] for part in svg.iter(f"{SPACE}g") if part.attrib.get("class") == "line still"]
    without = [str(i) for i, edge in enumerate(g.edges) if edge.delta is None]
    assert sorted(still) == sorted(without)
    assert len(still) == 3


def test_it_is_visible_without_a_browser():
    picture = graph_picture(neuron())
    expect_drawn(picture)
    assert "δ: gradient of the output; dashed: none flows" in words_of(picture)
    light, dark = (image_of(picture.to_png(scale=1, dark=dark)).getpixel((2, 2)) for dark in (False, True))
    assert (light, dark) == ((255, 255, 255, 255), (0x15, 0x18, 0x1C, 255))


def test_large_values_name_the_limit():
    picture = graph_picture(tower(), depth=1)
    assert "Values of more than 6 numbers stand as their shape (numbers=6)." in picture.note
    assert picture.alt.startswith("Compute graph: 14 operators from tokens (2, 3) to (2, 3, 11), drawn as 6 boxes with")
    assert graph_picture(neuron()).note == ""


def test_in_a_page_it_has_one_title():
    picture = graph_picture(neuron(), title="A neuron")
    html = Page("x", sections=[Section("", [picture])]).to_html()
    found = expect_self_contained_but_svg(html)
    assert found.text.count("A neuron") == 1
    assert "A neuron" in words_of(picture)


def expect_self_contained_but_svg(html: str) -> Tags:
    return expect_self_contained(re.sub(r"<(rect|path)([^>]*)/>", r"<\1\2></\1>", html), charts=0)


@pytest.mark.parametrize("depth", [1, 2])
def test_everything_is_escaped(depth: int):
    svg = draw_svg(graph(Named(), torch.ones(1, 2)), depth=depth, title=EVIL)
    assert EVIL in words_in(svg)
    assert [part.tag for part in ElementTree.fromstring(svg).iter() if "script" in part.tag] == []
    assert svg.count("</style>") == 1


def test_a_result_that_is_an_input():
    g = graph(lambda x, y: (x, x + y), torch.tensor(1.0), torch.tensor(2.0))
    assert sorted(slots_in(draw_svg(g))) == ["end:0", "end:2", "op:0", "value:0", "value:1"]


def test_messages():
    def long(x: torch.Tensor) -> torch.Tensor:
        for _ in range(MOST):
            x = x + 1
        return x

    g = graph(long, torch.tensor(0.0), keep="shapes")
    with pytest.raises(
        ValueError, match=r"at most 2,000 boxes, got 2,002; fold some of it, as in depth=1, or write the"
    ):
        draw_svg(g)
