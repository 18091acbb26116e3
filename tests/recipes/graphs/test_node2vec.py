"""`node2vec`: vectors of vertices from walks: two groups stay apart; killed and resumed; its messages."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graph_runs import train
from killing import expect_same_after_death

from cutaway.recipes.graphs.node2vec import Node2VecRecipe

LITTLE: dict[str, Any] = dict(width=8, walks=3, length=12, steps=12, evaluate_every=4, checkpoint_every=3, log_every=2)


def two_groups(folder: Path) -> str:
    graph = nx.planted_partition_graph(2, 15, 0.5, 0.02, seed=0)
    lines = [f"v {i}\tv {j}" for i, j in graph.edges]
    (folder / "edges.tsv").write_text("source\ttarget\n" + "\n".join(lines) + "\n")
    return str(folder / "edges.tsv")


def test_vertices_of_a_group_point_alike(tmp_path: Path):
    run = train("node2vec", data=two_groups(tmp_path), width=16, walks=20, length=20, out=tmp_path / "run")
    near = [int(word.split("_")[1]) for word, _ in run.nearest("v_3", 8)]
    assert np.mean([i < 15 for i in near]) >= 0.85


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    expect_same_after_death(tmp_path, "node2vec", LITTLE | {"data": two_groups(tmp_path)})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 1}, r"length must be at least 2, got 1"),
        ({"back": 0.0}, r"back must be above 0, got 0.0"),
        ({"phrases": 2}, r"walks are no text, got phrases=2"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Node2VecRecipe.make(**settings)
