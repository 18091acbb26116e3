"""Views of vertices: what an edge says is what cutting it changes; neighbourhoods; alike states are seen."""

from pathlib import Path

import pytest
import torch
from graph_runs import train

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.runs.views.graph_views import vertices
from cutaway.tasks.subjects import subject_of

PATH = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("views")
    return train("gat", data="karate-club", heads=2, width=8, steps=40, out=folder / "run")


def test_neighbourhood_of_a_path():
    assert vertices.neighbourhood(PATH, 2, 1).tolist() == [2, 1, 3]
    assert vertices.neighbourhood(PATH, 0, 2).tolist() == [0, 1, 2]
    assert vertices.edges_around(PATH, 1, 10).tolist() == [0, 1, 2]
    assert vertices.edges_around(PATH, 1, 2).tolist() == [0, 1]


def test_a_cut_edge_changes_what_it_said(run: cut.runs.Run):
    subject = subject_of(run, "9")
    assert subject.vertices == (9,)
    (picture,) = vertices.cut_edges(run, subject)
    assert "9" in picture.title
    assert picture.caption


def test_pages_of_values(tmp_path: Path):
    """A run of values has the same pictures, in the unit of its target."""
    import networkx as nx

    from cutaway.runs.pages import make_page

    graph = nx.relabel_nodes(nx.grid_2d_graph(5, 5), {(a, b): f"{a}{b}" for a in range(5) for b in range(5)})
    for v in graph:
        graph.nodes[v].update(sensor=int(v[0]) + 0.3 * int(v[1]), target=int(v[0]) * int(v[1]) + 0.5)
    nx.write_graphml(graph, tmp_path / "grid.graphml")
    run = train("gat", data=str(tmp_path / "grid.graphml"), steps=20, width=8, heads=2, out=tmp_path / "run")
    _, placed = make_page(run, subject_of(run), None)
    assert {one.source for one in placed} >= {"vertex_mistakes", "predicted_graph", "cut_edges", "neighbours_heard"}
    subject = subject_of(run, "22")
    (picture,) = vertices.cut_edges(run, subject)
    (answer,) = run.predict("22")
    assert f"target is {answer['target']:.3g}" in picture.title
    groups = vertices._groups(run.recipe.dataset(run), torch.tensor([0.5, 1.5, 16.5]))
    assert len(set(groups)) == 3


def test_a_large_graph_is_cut_out_around_the_vertex(run: cut.runs.Run, monkeypatch: pytest.MonkeyPatch):
    """What a vertex is told does not change if only its surroundings are passed through."""
    subject = subject_of(run, "16")
    whole = vertices.cut_edges(run, subject)[0].alt
    monkeypatch.setattr(vertices, "_WHOLE", 10)
    assert vertices.cut_edges(run, subject)[0].alt == whole
    assert vertices.smoothing(run, subject) == []


def test_every_view_draws(run: cut.runs.Run):
    subject = subject_of(run)
    for view in (vertices.vertex_mistakes, vertices.smoothing, vertices.vertex_map):
        for picture in view(run, subject):
            assert picture.caption
            assert picture.alt


def test_a_page_of_a_vertex(run: cut.runs.Run, tmp_path: Path):
    from cutaway.runs.pages import make_page

    page, placed = make_page(run, subject_of(run, "5"), None)
    assert {one.source for one in placed} >= {"vertex_mistakes", "cut_edges", "smoothing", "vertex_map"}
    assert page.save(tmp_path / "page.html").stat().st_size > 10_000
