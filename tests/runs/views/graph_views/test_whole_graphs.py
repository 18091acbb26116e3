"""Views of whole graphs: what a vertex adds is what taking it out changes; letters; every picture is there."""

from pathlib import Path

import pytest
import torch
from graph_runs import train

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.runs.views.graph_views import vertices, whole_graphs
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("views")
    return train("gin", width=8, depth=2, steps=20, out=folder / "run")


def test_every_picture(run: cut.runs.Run):
    subject = subject_of(run)
    for view in (whole_graphs.graph_answers, whole_graphs.telling_vertices, whole_graphs.graph_map, vertices.smoothing):
        (picture,) = view(run, subject)
        assert picture.caption
    (gallery,) = whole_graphs.telling_vertices(run, subject)
    assert len(gallery.spec()["datasets"]["words"]) == 9
    assert whole_graphs.keeps_vertices(run)


def test_what_a_vertex_adds(run: cut.runs.Run):
    graph = run.recipe.dataset(run).train.graphs[0]
    found = whole_graphs.change_without_each(run.model, graph, 1, None)
    with torch.no_grad():
        whole = run.model(graph).double().softmax(-1)[0, 1]
        less = run.model(graph.subgraph(torch.arange(1, graph.vertices))).double().softmax(-1)[0, 1]
    assert found[0] == pytest.approx(float(whole - less), abs=1e-6)


def test_letters_of_vertices():
    graph = Graph(torch.tensor([[0], [1]]), x=torch.tensor([[1.0, 0, 1], [0, 1, 0]]))
    assert whole_graphs.vertex_letters(graph, ("element=C", "element=N", "neighbours=1")) == ["C", "N"]
    assert whole_graphs.vertex_letters(graph, ("tag 3", "tag 8", "feature_1")) == ["3", "8"]
    assert whole_graphs.vertex_letters(graph, ("one", "two", "three")) == ["", ""]


def test_values(tmp_path: Path):
    lines = [f"{'C' * n},{n}.5" for n in range(1, 31)]
    (tmp_path / "m.csv").write_text("smiles,size\n" + "\n".join(lines))
    run = train("gin", data=str(tmp_path / "m.csv"), validation=0.3, width=8, depth=2, steps=5, out=tmp_path / "run")
    subject = subject_of(run)
    assert "predicted beside true" in whole_graphs.graph_answers(run, subject)[0].title
    (gallery,) = whole_graphs.telling_vertices(run, subject)
    assert "true" in gallery.spec()["datasets"]["words"][0]["head"]
