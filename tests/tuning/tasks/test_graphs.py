"""Classes and values of whole graphs with few targets: an encoder of hidden vertices, or a gin run, and a new head."""

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.tuning.task_choice import find_task
from cutaway.tuning.tasks.graphs import TunedGraphsRecipe


def write_chains(path: Path, count: int, tags: int = 3) -> Path:
    """Chains with alternating tags; those of class 1 hold one vertex with the tag 2."""
    lines = [str(count)]
    for g in range(count):
        n = 6 + g % 5
        lines.append(f"{n} {g % 2}")
        for v in range(n):
            around = [u for u in (v - 1, v + 1) if 0 <= u < n]
            tag = 2 if g % 2 and v == g // 2 % n else (v + g) % 2
            lines.append(" ".join(map(str, [min(tag, tags - 1), len(around), *around])))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chains(tmp_path_factory.mktemp("chains") / "chains.txt", 60)


@pytest.fixture(scope="module")
def base(chains: Path) -> Path:
    settings: dict[str, Any] = dict(width=16, depth=2, steps=20, evaluate_every=20, show="quiet")
    cut.train("masked-graph", data=str(chains), out=chains.parent / "base", **settings)
    return chains.parent / "base"


def test_a_head_alone_learns_classes(base: Path, chains: Path, tmp_path: Path):
    assert find_task(str(base), str(chains)).kind is TunedGraphsRecipe
    run = cut.tune(base, data=str(chains), head_only=True, out=tmp_path / "run", show="quiet")
    assert run.test()["accuracy"] == 1.0
    assert set(run.about["data"]["baselines"]) == {"same answer", "structure-blind"}
    assert run.about["data"]["tuning"]["trained"] < run.about["data"]["tuning"]["parameters"] / 4
    before, after = cut.load(base).model.state_dict(), run.model.state_dict()
    kept = [name for name in before if not name.startswith(("decoder.", "pairs."))]
    assert all(torch.equal(before[name], after[name]) for name in kept)
    found = cut.load(run.path).predict(str(write_chains(tmp_path / "new.txt", 4, tags=3)))
    assert [row["class"] for row in found] == ["0", "1", "0", "1"]
    vectors = run.embed(str(tmp_path / "new.txt"))
    assert (run.model.decide(vectors).argmax(1) == torch.tensor([0, 1, 0, 1])).all()
    # Graphs that lack a tag of training still have its column.
    assert len(run.predict(str(write_chains(tmp_path / "fewer.txt", 4, tags=2)))) == 4


@pytest.mark.parametrize("way", [{"lora": 2}, {"adapter": 4}, {"last": 1}, {"full": True}])
def test_every_way(way: dict[str, Any], base: Path, chains: Path, tmp_path: Path):
    run = cut.tune(base, data=str(chains), steps=3, out=tmp_path / "run", show="quiet", **way)
    again = cut.load(run.path)
    rows = again.task.parts.train.graphs
    whole = cut.blocks.Graph.batch(list(rows[:5]))
    with torch.no_grad():
        torch.testing.assert_close(run.model(whole), again.model(whole))
    share = run.about["data"]["tuning"]
    assert (share["trained"] == share["parameters"]) == ("full" in way)


@pytest.mark.untyped
def test_values_of_graphs_in_memory(tmp_path: Path):
    """Edges are restored, then the number of vertices is learned: sums over vertices grow with it."""
    graphs = [networkx.cycle_graph(4 + i % 9) for i in range(60)]
    for graph in graphs:
        networkx.set_node_attributes(graph, {v: float(v % 2) for v in graph}, "kind")
        graph.graph["label"] = graph.number_of_nodes() + 0.5
    settings: dict[str, Any] = dict(hide="edges", width=8, depth=2, steps=10, show="quiet")
    base = cut.train("masked-graph", data=graphs, out=tmp_path / "base", **settings)
    assert base.recipe.graphs == "many"  # type: ignore[attr-defined]
    run = cut.tune(base, data=graphs, head_only=True, readout="sum", steps=300, out=tmp_path / "run", show="quiet")
    assert run.test()["r2"] > 0.8
    again = cut.load(run.path)
    answers = again.predict(graphs[:3])
    assert np.allclose([row["label"] for row in answers], [4.5, 5.5, 6.5], atol=2.0)


def test_a_run_of_gin_is_a_base(chains: Path, tmp_path: Path):
    first = cut.train("gin", data=str(chains), width=8, depth=2, steps=5, out=tmp_path / "gin", show="quiet")
    run = cut.tune(first, data=str(chains), head_only=True, out=tmp_path / "run", show="quiet")
    assert run.model.spec.readout == "sum"
    assert run.about["data"]["tuning"]["trained"] == 8 * 2 + 2


def test_what_nobody_chose(base: Path, chains: Path):
    recipe = TunedGraphsRecipe(base=str(base), data=str(chains)).begin().recipe
    assert recipe.full
    assert (recipe.rate, recipe.steps) == (0.001, 100)


def test_one_graph_or_many(base: Path, tmp_path: Path):
    (tmp_path / "m.csv").write_text("smiles,y\nCCO,1\nCCN,0\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
    assert find_task(str(base), str(tmp_path / "m.csv")).kind.task == "graphs"
    assert find_task(str(base), str(tmp_path / "e.csv")).kind.task == "vertices"
    assert find_task(str(base), [networkx.path_graph(3)]).kind.task == "graphs"


def test_bad_input(base: Path, tmp_path: Path):
    (tmp_path / "m.csv").write_text("smiles,y\n" + "\n".join(f"{'C' * i}O,{i % 2}" for i in range(1, 20)) + "\n")
    with pytest.raises(ValueError, match=r"graphs must have the 3 features of their base's, got \d+ in m\.csv"):
        TunedGraphsRecipe(base=str(base), data=str(tmp_path / "m.csv")).job()


@pytest.mark.long
@pytest.mark.parametrize("way", [{"full": True}, {"lora": 2}])
def test_killed_and_resumed(way: dict[str, Any], base: Path, chains: Path, tmp_path: Path):
    settings: dict[str, Any] = dict(base=str(base), data=str(chains), steps=6, checkpoint_every=2, batch=8, **way)
    expect_same_after_death(tmp_path, "tuned-graphs", settings)
