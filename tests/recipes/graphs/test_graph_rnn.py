"""`graph-rnn`: learns shapes, says how likely graphs are, draws new ones; killed and resumed; bad input."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from graph_runs import train
from killing import expect_same_after_death

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import open_graphs, read_graphs
from cutaway.data.graphs.raw_graph_sets import write_graph_set
from cutaway.recipes.graphs.graph_rnn import GraphRNNRecipe
from cutaway.tasks.graphs.generation.likelihoods import GraphParts, one_graph
from cutaway.tasks.subjects import subject_of

LITTLE: dict[str, Any] = dict(width=8, edge_width=4, steps=12, batch=8, evaluate_every=4, checkpoint_every=3)


def rings(count: int = 24) -> list[nx.Graph]:
    return [nx.cycle_graph(5 + i % 4) for i in range(count)]


def ring_file(folder: Path) -> str:
    (folder / "rings.npz").write_bytes(write_graph_set(open_graphs(rings())))
    return str(folder / "rings.npz")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("rings")
    return train(
        "graph-rnn", data=ring_file(folder), width=24, edge_width=8, steps=150, rate=0.02, batch=12, evaluate_every=50,
        validation=0.25, out=folder / "run",
    )  # fmt: skip


def test_rings_are_learned(run: cut.runs.Run):
    """A ring of a known size holds about one surprise, its size: the order is nearly always the same."""
    found = run.test()
    assert found["loss"] < 4
    assert found["loss"] < 0.5 * found["baseline_loss"]
    assert {"degree_mmd", "clustering_mmd", "component_mmd", "novel", "unique", "nats_per_edge"} <= set(found)
    assert set(run.about["data"]["baselines"]) == {"Erdős–Rényi", "distance alone"}
    drawn = run.sample(40)
    assert sum(bool((graph.degrees() == 2).all()) for graph in drawn) > 25


def test_samples_are_a_function_of_the_seed(run: cut.runs.Run):
    one, other = run.sample(5, seed=3), cut.load(run.path).sample(5, seed=3)
    assert [graph.edges.tolist() for graph in one] == [graph.edges.tolist() for graph in other]
    assert all(isinstance(graph, Graph) for graph in one)
    with pytest.raises(ValueError, match=r"drawn without label, got label='ring'"):
        run.sample(2, label="ring")
    with pytest.raises(ValueError, match=r"from 1 to 10,000 graphs, got 0"):
        run.sample(0)


def test_a_ring_is_likelier_than_a_star(run: cut.runs.Run):
    ring, star, wide = run.predict([nx.cycle_graph(6), nx.path_graph(6), nx.star_graph(30)])
    assert ring["log p"] > star["log p"]
    assert (ring["vertices"], ring["edges"]) == (6, 6)
    assert ring["nats an edge"] == pytest.approx(-ring["log p"] / 6)
    assert wide["log p"] is None  # its edges reach too far back


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    expect_same_after_death(tmp_path, "graph-rnn", LITTLE | {"data": "trees", "dropout": 0.1})


@pytest.mark.parametrize("edges", ["recurrent", "independent"])
def test_the_embedded_communities(edges: str, tmp_path: Path):
    run = train("graph-rnn", edges=edges, steps=20, batch=16, width=16, evaluate_every=20, out=tmp_path / "run")
    losses = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert losses[-1] < losses[0]


def test_a_folder_of_graphs_with_other_things_in_it(tmp_path: Path):
    (tmp_path / "graphs").mkdir()
    for i, graph in enumerate(rings(10)):
        graph.add_edge(0, 0)
        nx.set_edge_attributes(graph, 2.5, "weight")
        nx.write_graphml(graph, tmp_path / "graphs" / f"{i}.graphml")
    data = read_graphs(tmp_path / "graphs", labelled=False, test=0.0)
    parts = GraphParts.of(data, 7)
    assert "self-loops: left out" in " ".join(parts.notes)
    assert "have more than 7 vertices (largest): left out" in " ".join(parts.notes)
    assert all(graph.weights is None for graph in parts.train)
    narrow = GraphParts.of(read_graphs([nx.star_graph(9), *rings(9)], labelled=False, validation=0.0, test=0.0), 20, 4)
    assert "1 training graphs have edges that reach further back than bandwidth=4: left out" in narrow.notes[0]
    assert len(narrow.train) == 9


def test_bad_input(tmp_path: Path):
    data = ring_file(tmp_path)
    with pytest.raises(ValueError, match=r"at least two graphs to learn from, got 0 of up to 4 vertices"):
        train("graph-rnn", data=data, largest=4, out=tmp_path / "a")
    with pytest.raises(ValueError, match=r"got none with bandwidth=1; raise it"):
        train("graph-rnn", data=data, bandwidth=1, out=tmp_path / "b")
    with pytest.raises(ValueError, match=r"largest must be at least 2, got 1"):
        GraphRNNRecipe(largest=1)
    with pytest.raises(ValueError, match=r"must fit the bandwidth of 2, got none"):
        one_graph(cut.models.GraphRNN(bandwidth=2), [Graph(torch.tensor([[0] * 6, [1, 2, 3, 4, 5, 6]]))], "a star")


@pytest.mark.untyped
def test_graphs_in_memory(tmp_path: Path):
    run = train("graph-rnn", data=rings(), **LITTLE, out=tmp_path / "run")
    assert cut.load(run.path).recipe.dataset(run).counts == {"training": 19, "validation": 2, "test": 3}
    with pytest.raises(ValueError, match=r"learns from many graphs, got one Graph; give a list of graphs"):
        train("graph-rnn", data=nx.karate_club_graph(), out=tmp_path / "a")
    with pytest.raises(ValueError, match=r"at least two graphs to learn from, got 1"):
        train("graph-rnn", data=[nx.cycle_graph(5)], validation=0.0, test=0.0, out=tmp_path / "b")
    with pytest.raises(ValueError, match=r"whose edges have a direction; make them undirected first"):
        train("graph-rnn", data=[nx.DiGraph([(0, 1), (1, 2)]) for _ in range(8)], out=tmp_path / "d")
    with pytest.raises(ValueError, match=r"must be undirected, got '0', which is directed"):
        train("graph-rnn", data=[Graph(torch.tensor([[0], [1]]), directed=True)] * 8, out=tmp_path / "e")


def test_a_subject_is_a_graph_it_was_not_trained_on(run: cut.runs.Run):
    subject = subject_of(run)
    rows, sizes = subject.arguments
    assert len(subject.tokens) == int(sizes[0]) == rows.shape[1]
    assert subject.words == "a graph that it was not trained on"
    assert np.isfinite(float(run.model(rows, sizes)))
