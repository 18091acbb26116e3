"""Views of runs that draw graphs, and the files that `cutaway sample` writes of them."""

import json
from pathlib import Path

import networkx as nx
import pytest
from graph_runs import train

import cutaway as cut
from cutaway.cli import run as cli
from cutaway.data.graphs.graph_set import open_graphs, read_graphs
from cutaway.data.graphs.raw_graph_sets import write_graph_set
from cutaway.runs.views.graph_views import drawn_graphs
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("drawn")
    graphs = open_graphs([nx.cycle_graph(5 + i % 4) for i in range(20)])
    (folder / "rings.npz").write_bytes(write_graph_set(graphs))
    return train(
        "graph-rnn",
        data=str(folder / "rings.npz"),
        width=8,
        edge_width=4,
        steps=20,
        batch=8,
        validation=0.2,
        out=folder / "run",
    )


def test_pictures(run: cut.runs.Run):
    subject = subject_of(run)
    assert drawn_graphs.draws_graphs(run)
    groups = drawn_graphs.drawn_and_real(run, subject)
    assert "held out" in groups.alt
    assert "Erdős–Rényi" in groups.alt
    (scores,) = drawn_graphs.drawn_scores(run, subject)
    assert scores.alt.startswith("Bars of 3 scores for 4 settings")
    (edges,) = drawn_graphs.expected_edges(run, subject)
    n = int(subject.arguments[1][0])
    assert f"{n} × {n}" in edges.alt


def test_a_folder_of_graphml_can_be_read_again(run: cut.runs.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "new"
    assert cli(["sample", str(run.path), "--count", "10", "--seed", "4", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    made = run.sample(10, seed=4)
    assert told["vertices"] == [graph.vertices for graph in made]
    assert told["files"][0].endswith("01.graphml")
    assert Path(told["files"][-1]).name == "new.png"
    again = read_graphs(out, validation=0.0, test=0.0, labelled=False).train
    assert sorted(graph.edges.shape[1] for graph in again.graphs) == sorted(told["edges"])


def test_lists_arrays_and_pictures(run: cut.runs.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = run.sample(6)
    for name in ("new.csv", "new.npz", "new.html"):
        assert cli(["sample", str(run.path), "--count", "6", "--out", str(tmp_path / name)]) == 0
    lines = (tmp_path / "new.csv").read_text().splitlines()
    assert lines[0] == "graph,source,target"
    assert sum(bool(line.rsplit(",", 1)[1]) for line in lines[1:]) == sum(graph.edges.shape[1] for graph in made)
    again = read_graphs(tmp_path / "new.npz", validation=0.0, test=0.0, labelled=False).train
    assert sorted(graph.vertices for graph in again.graphs) == sorted(graph.vertices for graph in made)
    capsys.readouterr()
    assert cli(["sample", str(run.path)]) == 0
    assert capsys.readouterr().out.strip() == str(run.path / "drawn-graphs")
    assert cli(["sample", str(run.path), "--out", "x.jpg"]) == 2
    told = capsys.readouterr().err
    assert "--out must end in .png, .svg, .html, .npz or .csv, or name a folder, got 'x.jpg'" in told
    assert cli(["sample", str(run.path), "--label", "ring"]) == 2
    assert "graphs are drawn without label" in capsys.readouterr().err
