"""The recipe for hidden parts of graphs: one graph and many, what it tells of vertices, death and return."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.data.graphs.graph_set import read_graphs
from cutaway.data.kinds import looks_like_many
from cutaway.recipes.graphs.masked_graph import MaskedGraphRecipe

QUICK: dict[str, Any] = dict(width=16, steps=60, evaluate_every=30, show="quiet")


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs whose vertices have tags that alternate along a chain: a neighbour tells all."""
    lines = ["60"]
    for g in range(60):
        n = 6 + g % 5
        lines.append(f"{n} {g % 2}")
        for v in range(n):
            around = [u for u in (v - 1, v + 1) if 0 <= u < n]
            lines.append(" ".join(map(str, [(v + g) % 2, len(around), *around])))
    path = tmp_path_factory.mktemp("chains") / "chains.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def many(chains: Path) -> Any:
    settings = QUICK | dict(steps=150, hidden=0.3, layer="gin", rate=0.01, dropout=0.0)
    return cut.train("masked-graph", data=str(chains), out=chains.parent / "run", **settings)


def test_kinds_are_restored_from_neighbours(many: Any):
    assert many.metrics[-1]["accuracy"] > 0.8
    names = many.about["data"]["baselines"]
    assert set(names) == {"most frequent", "neighbours"}
    assert many.test()["accuracy"] > 0.8


def test_what_each_vertex_would_be(many: Any, chains: Path):
    found = many.predict(str(chains))
    right = np.mean([row["tag"] == row["true tag"] for row in found])
    assert right > 0.8
    assert {"graph", "vertex", "tag", "P(tag)"} <= set(found[0])


@pytest.mark.parametrize("hide", ["vertices", "both"])
def test_one_graph(hide: str, tmp_path: Path):
    run = cut.train("masked-graph", data="citations", hide=hide, out=tmp_path / "run", **QUICK)
    assert run.metrics[-1]["cosine"] > 0.05
    assert ("auc" in run.metrics[-1]) == (hide == "both")
    recipe: Any = run.recipe
    name = str(recipe.dataset(run).names[0])
    (found,) = run.predict(name)
    assert found["vertex"] == name
    assert found["features"]


def test_vectors(many: Any, chains: Path, tmp_path: Path):
    """Of vertices their states at one length, of graphs the means of their vertices' states."""
    run = cut.train("masked-graph", data="citations", out=tmp_path / "run", **QUICK | {"steps": 2})
    recipe: Any = run.recipe
    names = recipe.dataset(run).names
    states = run.model.eval().encode(recipe.masked_data(run).graph).detach()
    states = 4 * states / states.norm(dim=1, keepdim=True).clamp(min=1e-12)  # at one length, √16
    torch.testing.assert_close(run.embed([names[5], names[2]]), states[[5, 2]])
    assert run.embed("all").shape == (len(names), 16)
    graphs = recipe_graphs(many)
    torch.testing.assert_close(many.embed(str(chains))[3], many.model.eval().encode(graphs[3]).mean(0).detach())


def recipe_graphs(run: Any) -> Any:
    return read_graphs(run.about["config"]["data"], validation=0.0, test=0.0, labelled=False).train.graphs


def test_edges_of_other_parts_are_taken_out():
    data = MaskedGraphRecipe(data="citations", hide="edges", validation=0.2, test=0.1).masked_data()
    m = data.data.graph.edges.shape[1]
    assert data.batches(0, 1).at(0).graph.edges.shape[1] == pytest.approx(0.7 * m, abs=2)
    held, test = data.held_parts(), data.test_parts()
    assert held.graph.edges.shape[1] == pytest.approx(0.9 * m, abs=2)
    assert held.edges.sum() == pytest.approx(0.2 * m, abs=2)
    assert test.graph.edges.shape[1] == m
    assert not held.vertices.any()


def test_one_or_many(chains: Path, tmp_path: Path):
    assert looks_like_many(str(chains))
    assert looks_like_many("trees")
    assert not looks_like_many("citations")
    (tmp_path / "m.csv").write_text("smiles,y\nCCO,1\nCCN,0\n")
    assert looks_like_many(str(tmp_path / "m.csv"))
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
    assert not looks_like_many(str(tmp_path / "e.csv"))


def test_bad_input(tmp_path: Path):
    (tmp_path / "e.csv").write_text("source,target\n" + "\n".join(f"{i},{(i + 1) % 20}" for i in range(20)) + "\n")
    with pytest.raises(ValueError, match=r"hidden vertices are restored by their features, got e\.csv without any"):
        MaskedGraphRecipe(data=str(tmp_path / "e.csv")).job()
    MaskedGraphRecipe(data=str(tmp_path / "e.csv"), hide="edges").job()
    (tmp_path / "signed.csv").write_text("source,target,weight\na,b,1\nb,c,-2\nc,a,1\nc,d,1\nd,a,1\n")
    with pytest.raises(ValueError, match=r"layers 'gcn' need weights of 0 or more, .* got -2 for b – c in signed\.csv"):
        cut.train("masked-graph", data=str(tmp_path / "signed.csv"), hide="edges", out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match=r"hidden must be above 0 and below 1, got 0\.0; try hidden=0\.5"):
        MaskedGraphRecipe(hidden=0.0)


@pytest.mark.long
def test_killed_and_resumed(chains: Path, tmp_path: Path):
    settings: dict[str, Any] = dict(width=8, steps=8, evaluate_every=4, checkpoint_every=2, hide="both", batch=8)
    expect_same_after_death(tmp_path, "masked-graph", settings | {"data": str(chains)})
