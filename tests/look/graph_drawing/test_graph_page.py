"""The page: its data complete, and in a real browser it draws, folds, steps and finds."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch
from look.browser import opened_page
from look.graphed import EVIL, Named, all_boxes, neuron, tower
from look.rendered import Tags
from torch import Tensor, nn

from cutaway.look.charts.rasters import levels_of
from cutaway.look.graph_drawing.graph_page import graph_html, page_script
from cutaway.look.graph_drawing.packing import unpack
from cutaway.look.graph_drawing.svg import Drawing
from cutaway.look.graphs import Graph, graph
from cutaway.look.style.colours import SIGNED, table


@pytest.fixture(scope="module")
def tall() -> Graph:
    return tower()


def data_in(html: str) -> dict:
    return json.loads(unpack(packed_in(html, "graph")))


def packed_in(html: str, name: str) -> str:
    ((_, text),) = [script for script in Tags(plain_svg(html)).scripts if script[0].get("id") == name]
    return text


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
    packed = [{"type": "text/plain", "id": name} for name in ("graph", "levels")]
    assert [kind for kind, _ in found.scripts] == [*packed, {"type": "module"}]
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
    with pytest.raises(ValueError, match="megabytes must be above 0, got 0; 2 holds the values of GPT-2 small"):
        graph_html(tall, megabytes=0)


class Wide(nn.Module):
    """Two layers of many weights."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return (self.two(self.one(x).tanh()) @ self.two.weight.T).sum()


def test_a_page_is_as_large_as_it_may_be():
    g = graph(Wide(), torch.randn(4, 256)).backward()
    pages = {limit: graph_html(g, megabytes=limit) for limit in (0.065, 0.08, 2.0)}
    assert data_in(pages[2.0])["cells"] == 64
    for limit, page in pages.items():
        assert len(page.encode()) <= 1e6 * limit
    assert data_in(pages[0.065])["cells"] < data_in(pages[0.08])["cells"] < 64


def test_a_matrix_and_its_transpose_are_one_picture():
    told = data_in(graph_html(graph(Wide(), torch.randn(4, 256))))
    weight, transposed = (next(v for v in told["values"] if v["name"] == name) for name in ("two.weight", "T 1"))
    assert weight["content"]["start"] == transposed["content"]["start"]
    assert (weight["content"]["transposed"], transposed["content"]["transposed"]) == (False, True)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided], ids=str)
def test_nested_values_are_drawn(layout: torch.layout):
    layer = nn.Linear(3, 5)
    parts = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(8, 3)], layout=layout)
    g = graph(lambda x: sum(part.square().sum() for part in layer(x).unbind()), parts).backward()
    g.to_svg()
    told = data_in(graph_html(g))
    (made,) = (v for v in told["values"] if v["name"] == "linear 1")
    assert made["content"]["words"] == "10 × 5, the parts below each other."
    assert made["delta"]["statistics"]["norm"] == pytest.approx(2 * made["statistics"]["norm"], rel=1e-4)
    small = graph(lambda x: x * 2, torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=layout))
    assert "[[2], [2, 2]]" in small.to_svg()


def test_a_sparse_delta_is_drawn():
    embed = nn.Embedding(50, 8, sparse=True)
    g = graph(lambda tokens: embed(tokens).sum(), torch.tensor([1, 1, 3])).backward()
    assert g.delta("Embedding.weight").is_sparse
    g.to_svg()
    (table,) = (v for v in data_in(graph_html(g))["values"] if v["kind"] == "parameter")
    assert table["delta"]["statistics"]["norm"] == pytest.approx((8 * 4 + 8) ** 0.5)
    assert (table["delta"]["content"]["high"], table["delta"]["content"]["rows"]) == (2.0, 50)
    assert json.loads(g.to_json())["values"]


CLICK = """
while (document.body.dataset.ready !== "true") await new Promise(done => setTimeout(done, 5));
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


@pytest.mark.long
def test_the_browser_unpacks_the_colours(tmp_path: Path):
    """Of a weight and of its transpose, which is the same picture turned."""
    g = graph(Wide(32), torch.randn(4, 32))
    for name, matrix in (("two.weight", g["two.weight"].tensor), ("T 1", g["T 1"].tensor)):
        script = f"""{CLICK}
        const search = document.getElementById("search");
        search.value = "{name}"; search.dispatchEvent(new Event("input")); press("Enter", search);
        const canvas = [...document.querySelectorAll("#panel canvas")].at(-1);
        const pixels = canvas.getContext("2d").getImageData(0, 0, 32, 32).data;
        document.body.dataset.pixels = pixels.filter((_, i) => i % 4 === 0).join(" ");"""
        dom = opened_page(graph_html(g), tmp_path, script)
        (reds,) = re.findall('data-pixels="([^"]*)"', dom)
        most = matrix.abs().max().item()
        levels = levels_of(matrix.detach().numpy(), -most, most)
        expected = np.array(table(SIGNED, 255))[levels.astype(int) - 1, 0]
        drawn = np.array(list(map(int, reds.split()))).reshape(32, 32)
        assert np.abs(drawn - expected).mean() < 0.5  # the page knows the extremes to six digits
