"""`node2vec`: vectors of vertices from walks: two groups stay apart; killed and resumed; its messages."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graph_runs import train
from killing import expect_same_after_death

from cutaway.recipes.graphs import node2vec
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


def star(folder: Path, leaves: int) -> str:
    (folder / "star.csv").write_text("source,target\n" + "".join(f"hub,leaf{i}\n" for i in range(leaves)))
    return str(folder / "star.csv")


def test_a_graph_of_usual_size_is_read_five_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    recipe = Node2VecRecipe.make(data=star(tmp_path, 100)).begin().recipe
    assert (recipe.walks, recipe.passes, recipe.steps, recipe.evaluate_every) == (10, 5.0, 100, 20)
    assert capsys.readouterr().err == ""
    chosen = Node2VecRecipe.make(data="nowhere.csv", walks=3, passes=2.0, steps=7)
    assert chosen.settled(None) is chosen  # what is chosen stays, and nothing is read for it


@pytest.mark.parametrize(
    ("read", "expected"),
    [  # the star has 101 vertices: a pass over 10 walks of 40 is 40,400 vertices
        (202_000, (10, 5.0, 300, 60)),  # 202,000 in steps of 1,000 at most: 202, in whole hundreds
        (200_000, (10, 4.0, 200, 40)),
        (40_400, (10, 1.0, 100, 20)),
        (9_000, (2, 1.0, 100, 20)),
        (10, (1, 1.0, 100, 20)),
    ],
)
def test_large_graphs_have_fewer_passes_and_walks_and_more_steps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    read: int,
    expected: tuple[int, float, int, int],
):
    monkeypatch.setattr(node2vec, "_READ", read)
    monkeypatch.setattr(node2vec, "_AT_ONCE", 1_000)
    recipe = Node2VecRecipe.make(data=star(tmp_path, 100)).begin().recipe
    assert (recipe.walks, recipe.passes, recipe.steps, recipe.evaluate_every) == expected
    assert recipe.checkpoint_every == 50
    told = capsys.readouterr().err
    assert told == "" if recipe.steps == 100 else f"in {recipe.steps} steps; --walks, --length and --passes" in told


def test_what_is_chosen_is_not_lowered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node2vec, "_READ", 10)
    recipe = Node2VecRecipe.make(data=star(tmp_path, 100), walks=7, passes=5.0).begin().recipe
    assert (recipe.walks, recipe.passes, recipe.steps) == (7, 5.0, 100)


def test_a_run_notes_what_was_chosen_and_reads_the_same_walks_again(tmp_path: Path):
    run = train("node2vec", data=two_groups(tmp_path), width=8, length=12, steps=4, out=tmp_path / "run")
    assert (run.config.walks, run.config.passes) == (10, 5.0)
    assert run.test()["loss"] > 0
