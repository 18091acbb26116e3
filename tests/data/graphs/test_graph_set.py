"""Many graphs: parts, labels, every form."""

from pathlib import Path

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.graph_set import scaffold_parts
from cutaway.data.graphs.raw_graph_sets import RawGraphSet, read_graph_set, write_graph_set


def test_parts_of_a_sample():
    data = cut.data.read_graphs("trees", seed=3)
    again = cut.data.read_graphs("trees", seed=3)
    assert data.counts == {"training": 360, "validation": 45, "test": 45}
    assert data.train.names == again.train.names
    names = [*data.train.names, *data.validation.names, *data.open_test().names]
    assert len(set(names)) == 450
    assert np.bincount(data.validation.targets).tolist() == [15, 15, 15]
    assert "450" not in data.summary().splitlines()[0]


def test_graphs_in_memory_batch():
    theirs = [networkx.path_graph(3), networkx.cycle_graph(4), networkx.star_graph(5), networkx.path_graph(2)]
    data = cut.data.read_graphs(theirs, targets=[0.5, 1.25, 2.0, 3.0], validation=0.25, test=0)
    assert data.classes == ()
    assert len(data.train) == 3
    whole = cut.blocks.Graph.batch(list(data.train.graphs))
    assert whole.graphs == 3
    with pytest.raises(ValueError, match="one for each graph, got 1 for 4 graphs"):
        cut.data.read_graphs(theirs, targets=[1])


def test_scaffolds_are_never_torn():
    rng = np.random.default_rng(0)
    scaffolds = [f"s{i}" for i in rng.integers(0, 30, 200)]
    parts = scaffold_parts(scaffolds, 0.1, 0.1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(200))
    groups = [{scaffolds[i] for i in part} for part in parts]
    assert not groups[0] & groups[1]
    assert not groups[0] & groups[2]
    assert not groups[1] & groups[2]
    assert len(parts[0]) <= 160


def test_mistakes(tmp_path: Path):
    with pytest.raises(ValueError, match="a split by scaffold needs molecules, got trees"):
        cut.data.read_graphs("trees", split="scaffold")
    with pytest.raises(ValueError, match="split must be one of random, scaffold, got 'time'"):
        cut.data.read_graphs("trees", split="time")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    with pytest.raises(ValueError, match=r"got the columns source, target in edges.csv; name the column of SMILES"):
        cut.data.read_graphs(tmp_path / "edges.csv")
    with pytest.raises(ValueError, match="graphs was asked for, got the graph sample karate-club"):
        cut.data.read_graphs("karate-club")


def test_a_damaged_npz(tmp_path: Path):
    path = tmp_path / "graphs.npz"
    path.write_bytes(b"PK\x03\x04junk")
    with pytest.raises(ValueError, match=r"must hold plain arrays, got graphs.npz, .* or is damaged"):
        cut.data.read_graphs(path)


@pytest.mark.parametrize("directed", [False, True])
def test_a_written_set_reads_as_it_was(directed: bool, tmp_path: Path):
    graphs = [
        Graph(torch.tensor([[0, 1], [1, 2]]), 3, directed=directed),
        Graph(torch.tensor([[0], [1]]), 2, directed=directed),
    ]
    raw = RawGraphSet("two", graphs, ["a", "b"], np.array([0, 1]), "label", fingerprint_files({}))
    (tmp_path / "two.npz").write_bytes(write_graph_set(raw))
    again = read_graph_set(tmp_path / "two.npz")
    assert [graph.directed for graph in again.graphs] == [directed, directed]
    assert all(torch.equal(a.edges, b.edges) for a, b in zip(again.graphs, graphs, strict=True))


def test_what_is_merged_in_graphs_of_memory_is_noted():
    rows = [networkx.MultiGraph([(0, 1), (0, 1), (1, 2)]), networkx.MultiGraph([(0, 1), (0, 1), (0, 1)])]
    data = cut.data.read_graphs([*rows, networkx.path_graph(3)], targets=[0, 1, 0], validation=0, test=0)
    assert data.notes[0] == "graph 1 (networkx graph): 1 edge came again: each counted once; the like in 1 more"


def test_features_that_some_graphs_lack_are_noted():
    with_age, without = networkx.path_graph(3), networkx.path_graph(2)
    networkx.set_node_attributes(with_age, {0: 1.0, 1: 2.0, 2: 5.0}, "age")
    data = cut.data.read_graphs([with_age, without, with_age], targets=[0, 1, 0], validation=0, test=0)
    assert "features of vertices are left out: 1 graphs have none, the first networkx graph, graph 2" in data.notes
