"""The page: its data complete, and in a real browser it draws, folds, steps and finds."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
import torch
from look.browser import opened_page
from look.graphed import EVIL, Named, all_boxes, neuron, tower
from look.rendered import Tags

from cutaway.look.graph_drawing.graph_page import graph_html, page_script
from cutaway.look.graph_drawing.svg import Drawing
from cutaway.look.graphs import Graph, graph


@pytest.fixture(scope="module")
def tall() -> Graph:
    return tower()


def data_in(html: str) -> dict:
    ((_, text),) = [script for script in Tags(plain_svg(html)).scripts if script[0].get("id") == "graph"]
    return json.loads(text)


def plain_svg(html: str) -> str:
    """Without the short form of empty tags, which HTML knows in SVG alone."""
    return re.sub(
        r"<(rect|path|input)([^>]*?)/?>", lambda m: "" if m[1] == "input" else f"<{m[1]}{m[2]}></{m[1]}>", html
    )


def test_the_data_is_the_graph(tall: Graph):
    told = data_in(graph_html(tall))
    assert [node["title"] for node in told["nodes"]] == [node.title for node in tall.nodes]
    assert [value["shape"] for value in told["values"]] == [list(value.shape) for value in tall.values]
    assert [(e["value"], e["node"]) for e in told["edges"]] == [(e.value.index, e.consumer.index) for e in tall.edges]
    for value, known in zip(told["values"], tall.values):
        if known.delta is not None:
            assert value["delta"]["statistics"]["norm"] == pytest.approx(float(known.delta.norm()), rel=1e-4)
        assert value["statistics"]["mean"] == pytest.approx(known.statistics.mean, rel=1e-4, abs=1e-6)
    for direction in ("forward", "backward"):
        steps = list(tall.steps(direction))
        assert [step["node"] for step in told["steps"][direction]] == [step.node.index for step in steps]
        shares = [[(told["edges"][e]["value"]) for e in step["shares"]] for step in told["steps"][direction]]
        assert shares == [[edge.value.index for edge in step.shares] for step in steps]


def test_before_backward_there_are_no_steps_back():
    html = graph_html(graph(torch.sigmoid, torch.tensor(0.0)))
    assert set(data_in(html)["steps"]) == {"forward"}
    assert "call g.backward() before g.to_html()" in html


def test_nothing_is_fetched_and_everything_escaped():
    html = graph_html(graph(Named(), torch.ones(1, 2)), title=EVIL)
    found = Tags(plain_svg(html))
    assert "default-src 'none'" in html
    assert not {"link", "iframe", "img"} & {tag for tag, _ in found.tags}
    assert not any({"src", "href"} & set(attributes) for _, attributes in found.tags)
    assert [kind for kind, _ in found.scripts] == [{"type": "application/json", "id": "graph"}, {"type": "module"}]
    assert any(EVIL in value["name"] for value in data_in(html)["values"])
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_the_script_is_whole():
    script = page_script()
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert {"function place(", "function draw(", "function operatorPanel("} <= set(
        re.findall(r"function \w+\(", script)
    )


def test_contents_stay_within_the_limit(tall: Graph):
    html = graph_html(tower(30), megabytes=0.01)
    assert data_in(html)["cells"] == 8
    assert "Contents are shown as at most 8 × 8 cells" in html
    with pytest.raises(ValueError, match="megabytes must be above 0, got 0; 4 holds the values of a small model"):
        graph_html(tall, megabytes=0)


CLICK = """
const box = name => [...document.querySelectorAll(".box, .chip")]
  .find(made => made.querySelector("text.name").textContent === name);
const click = made => made.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const press = (key, at = document.body) => at.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const next = () => document.getElementById("next").click();
"""


def boxes_in(dom: str) -> dict[str, tuple[float, float, float]]:
    """Where the browser drew each box and frame that is a rectangle: left, top, width."""
    found = {}
    for slot, body in re.findall(r'<g class="(?:box|frame)[^"]*" data-slot="([^"]*)"(.*?)</g>', dom, re.DOTALL):
        rects = re.findall(r'<rect class="shape" x="([^"]*)" y="([^"]*)" width="([^"]*)"', body)
        if rects:
            found[slot] = tuple(map(float, rects[-1]))
    return found


def expect_same_places(dom: str, drawing: Drawing) -> None:
    drawn = boxes_in(dom)
    expected = {slot: box for slot, box, _ in all_boxes(drawing) if not slot.startswith("label:")}
    hexagons = {slot for slot in expected if slot.startswith("value:") and slot not in drawn}
    assert set(drawn) == set(expected) - hexagons
    assert len(drawn) > 3
    for slot, place in drawn.items():
        box = expected[slot]
        assert place == pytest.approx((box.left, box.top, box.width), abs=0.01), slot


@pytest.mark.long
@pytest.mark.parametrize("how", [{"depth": 1}, {"depth": 9}, {"open": "blocks.2.inner"}], ids=str)
def test_the_browser_places_as_python_does(tall: Graph, tmp_path: Path, how: dict):
    expect_same_places(opened_page(graph_html(tall, **how), tmp_path), Drawing(tall, **how))


@pytest.mark.long
def test_a_click_opens_and_closes(tall: Graph, tmp_path: Path):
    html = graph_html(tall, depth=1)
    opening = 'click(box("blocks.0 … 3")); click(box("blocks.0")); click(box("blocks.0"));'
    script = f'{CLICK} {opening} press("Enter", box("blocks.2"))'
    expect_same_places(opened_page(html, tmp_path, script), Drawing(tall, open="blocks.2"))


def panel_of(dom: str) -> str:
    (panel,) = re.findall(r'<aside id="panel".*?>(.*?)</aside>', dom, re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", panel))


@pytest.mark.long
def test_stepping_forwards_and_back(tmp_path: Path):
    html = graph_html(neuron())
    dom = opened_page(html, tmp_path, f'{CLICK} next(); press("ArrowRight"); press("ArrowRight"); press("ArrowLeft")')
    assert re.search(r'<output id="count">2 of 3: add 1</output>', dom)
    assert re.findall(r'<g class="([^"]*)" data-slot="op:1"', dom) == ["box operator current"]
    assert re.findall(r'<g class="([^"]*)" data-slot="op:2"', dom) == ["box operator later"]
    read = re.findall(r'<g class="line read" data-edges="([^"]*)"', dom)
    assert sorted(read) == ["2", "3"]
    assert "y = x + z" in panel_of(dom)


@pytest.mark.long
def test_deltas_add_up_as_they_arrive(tmp_path: Path):
    """y = x² + 3x at x = 2, backwards: first the sum, then each product hands on what it has."""
    html = graph_html(graph(lambda x: x * x + 3 * x, torch.tensor(2.0)).backward())
    start = f'{CLICK} document.querySelector("[value=backward]").click(); next(); next();'
    halfway = panel_of(opened_page(html, tmp_path, start))
    assert "δ so far" in halfway
    assert "3 through mul 2" in halfway
    assert "still to come through mul 1" in halfway
    done = panel_of(opened_page(html, tmp_path, f"{start} next();"))
    assert re.search(
        r"Used 3 times: δ is the sum of these shares\.\s+2 through mul 1\s+2 through mul 1\s+3 through", done
    )


@pytest.mark.long
def test_finding_by_name_opens_what_is_around(tall: Graph, tmp_path: Path):
    script = f"""{CLICK}
    const search = document.getElementById("search");
    search.value = "blocks.3.inner.weight"; search.dispatchEvent(new Event("input")); press("Enter", search);"""
    dom = opened_page(graph_html(tall, depth=1), tmp_path, script)
    expect_same_places(dom, Drawing(tall, open="blocks.3.inner"))
    assert "blocks.3.inner.weight" in panel_of(dom)
    assert "<canvas" in dom


@pytest.mark.long
def test_evil_names_stay_words(tmp_path: Path):
    dom = opened_page(graph_html(graph(Named(), torch.ones(1, 2))), tmp_path, f"{CLICK} next(); next();")
    assert dom.count("<script>alert") == 0
    assert 'alert("1")' in unescape(dom)
