"""Drawn graphs: what the picture holds, its words, and mistakes."""

from pathlib import Path

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.look.graph_signals import vertex_graphs
from cutaway.look.graph_signals.vertex_graphs import draw_graph

PATH = cut.data.as_graph(networkx.path_graph(4))
LINE = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]


def rows(picture, name: str) -> list[dict]:
    return picture.spec()["datasets"][name]


def test_a_signal_with_names(tmp_path: Path):
    picture = draw_graph(PATH, [-1.0, 0.0, 0.5, 2.0], names=list("abcd"), layout=LINE, value="heat", title="Path")
    assert picture.alt == "Graph of 4 vertices, coloured by heat, and 3 edges, at given places."
    svg = picture.to_svg()
    for name in "abcd":
        assert f">{name}</text>" in svg
    assert "heat" in svg
    picture.save(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 1000


def test_groups_weights_and_arrows():
    directed = cut.blocks.Graph(torch.tensor([[0, 1], [1, 2]]), weights=torch.tensor([1.0, 3.0]), directed=True)
    picture = draw_graph(directed, groups=["x", "y", "x"], layout=LINE[:3])
    assert picture.note == "The width of an edge is its weight, 1 to 3."
    assert "in 2 groups" in picture.alt
    assert "triangle-up" in str(picture.spec())
    attention = draw_graph(directed, edge_values=[0.25, 0.75], edge_value="attention", layout=LINE[:3])
    assert "its attention, 0.25 to 0.75" in attention.note
    assert "triangle-up" not in str(draw_graph(PATH, layout=LINE).spec())


def test_names_that_would_hide_one_another_are_left_out():
    crowded = draw_graph(PATH, names=["first", "second", "third", "fourth"], layout=[[0, 0], [0, 0], [0, 0], [1, 1]])
    written = [row["written"] for row in rows(crowded, "vertices")]
    assert sum(map(bool, written)) == 2
    marked = draw_graph(PATH, names=list("abcd"), layout=[[0, 0], [0, 0], [0, 0], [1, 1]], marked=[0])
    assert rows(marked, "vertices")[0]["written"] == "a"


def test_a_large_graph_is_thinned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vertex_graphs, "_VERTICES", 10)
    monkeypatch.setattr(vertex_graphs, "_EDGES", 5)
    star = cut.data.as_graph(networkx.star_graph(30))
    picture = draw_graph(star, layout=np.random.default_rng(0).random((31, 2)), marked=[30])
    assert "Of 31 vertices the 10 with most edges are drawn." in picture.note
    assert "Of 10 edges 5 are drawn." in picture.note
    assert len(rows(picture, "vertices")) == 11


def test_mistakes():
    with pytest.raises(ValueError, match="by a signal or by groups, got both"):
        draw_graph(PATH, [1.0] * 4, groups=list("aabb"))
    with pytest.raises(ValueError, match="signal must have one for each of the 4 vertices, got 3"):
        draw_graph(PATH, [1.0] * 3)
    with pytest.raises(ValueError, match="edge_values must have one for each of the 3 edges, got 2"):
        draw_graph(PATH, edge_values=[1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"layout must be force, spectral or places of shape \(vertices, 2\), got 'tree'"
    ):
        draw_graph(PATH, layout="tree")
    with pytest.raises(ValueError, match=r"layout must have shape \(4, 2\), got \(3, 2\)"):
        draw_graph(PATH, layout=LINE[:3])
    with pytest.raises(ValueError, match="got an empty graph"):
        draw_graph(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 0))
