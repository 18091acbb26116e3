"""`gin`: classes and values of graphs, from text, molecules and folders; killed and resumed; predictions."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from graph_runs import train
from killing import expect_same_after_death

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.recipes.graphs.gin import GINRecipe
from cutaway.tasks.graphs import graph_networks
from cutaway.tasks.graphs.graph_networks import GraphBatches, outcome_outputs
from cutaway.tasks.graphs.outcomes import Scale, outcome_metrics
from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines, graph_sums
from cutaway.tasks.graphs.whole_graphs import read_new_graphs

LITTLE: dict[str, Any] = dict(width=8, depth=2, steps=12, batch=16, evaluate_every=4, checkpoint_every=3, log_every=2)
ALKANES = ["C" * n for n in range(1, 25)] + ["C" * n + "O" for n in range(1, 25)]


def molecules(folder: Path, value: bool = False) -> str:
    """Alkanes and alcohols: the class is whether there is oxygen, the value how many carbons."""
    target = [float(text.count("C")) + 0.5 if value else int("O" in text) for text in ALKANES]
    pd.DataFrame({"smiles": ALKANES, "target": target}).to_csv(folder / "molecules.csv", index=False)
    return str(folder / "molecules.csv")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("gin")
    return train("gin", data=molecules(folder), width=16, depth=2, steps=100, out=folder / "run")


def test_graphs_have_vectors(run: cut.runs.Run, tmp_path: Path):
    path = molecules(tmp_path)
    vectors = run.embed(path)
    assert vectors.shape == (48, 16)
    (names, rows), *more = run.learner.embedded_items(path)
    assert (len(names), more) == (48, [])
    torch.testing.assert_close(run.embed(rows), vectors)
    torch.testing.assert_close(run.embed(["CCCO", "CC"]), vectors[[26, 1]], atol=1e-5, rtol=1e-5)
    cosines = torch.nn.functional.cosine_similarity(run.embed(["CCCO"]), vectors)
    near = [ALKANES[i] for i in cosines.topk(4).indices]
    assert near[0] == "CCCO"
    assert sum("O" in text for text in near) >= 3


def test_learns_what_an_alcohol_is(run: cut.runs.Run):
    assert run.model.spec.edge_inputs > 0
    found = run.test()
    assert found["accuracy"] == 1
    assert {"balanced_accuracy", "auc", "baseline_accuracy"} <= set(found)
    assert set(run.about["data"]["baselines"]) == {"same answer", "structure-blind"}


def test_predicts_for_smiles_and_files(run: cut.runs.Run, tmp_path: Path):
    one = run.predict("CCCCCO")
    assert one[0]["graph"] == "CCCCCO"
    assert one[0]["class"] == "1"
    pd.DataFrame({"note": ["a", "b"], "SMILES": ["CCC", "CCCO"]}).to_csv(tmp_path / "new.csv", index=False)
    assert [row["class"] for row in run.predict(str(tmp_path / "new.csv"))] == ["0", "1"]
    assert [row["class"] for row in cut.load(run.path).predict(["CCC", "CCCO"])] == ["0", "1"]
    pd.DataFrame({"note": ["a"]}).to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(ValueError, match=r"must have a column of SMILES, got note in none.csv"):
        run.predict(str(tmp_path / "none.csv"))


def test_values(tmp_path: Path):
    run = train(
        "gin", data=molecules(tmp_path, value=True), width=16, depth=2, steps=200, dropout=0.0, patience=0,
        out=tmp_path / "run",
    )  # fmt: skip
    assert run.model.spec.task == "regression"
    found = run.test()
    assert found["r2"] > 0.7
    assert {"rmse", "mae", "baseline_rmse"} <= set(found)
    assert abs(run.predict("C" * 12)[0]["target"] - 12.5) < 5


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    expect_same_after_death(tmp_path, "gin", LITTLE | {"data": molecules(tmp_path)})


def test_the_embedded_trees(tmp_path: Path):
    run = train("gin", width=16, depth=3, steps=60, out=tmp_path / "run")
    losses = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert losses[-1] < losses[0]


def two_kinds() -> GraphRows:
    """Rings and paths of six vertices, with one feature that says nothing."""
    ring = torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6])
    graphs = [Graph(ring if i % 2 else ring[:, :5], 6, x=torch.ones(6, 1)) for i in range(8)]
    return GraphRows(tuple(graphs), tuple(map(str, range(8))), torch.tensor([i % 2 for i in range(8)]))


def test_batches_are_a_function_of_seed_and_step():
    batches = GraphBatches(two_kinds(), 4, seed=1)
    first, second = batches.at(0), batches.at(1)
    assert sorted(first.names + second.names) == [str(i) for i in range(8)]
    assert GraphBatches(two_kinds(), 4, seed=1).at(1).names == second.names


def test_outputs_do_not_depend_on_how_many_are_taken_at_once(run: cut.runs.Run, monkeypatch: pytest.MonkeyPatch):
    graphs = run.task.parts.train.graphs
    whole = outcome_outputs(run.model, graphs)
    monkeypatch.setattr(graph_networks, "_VERTICES", 20)
    assert torch.allclose(outcome_outputs(run.model, graphs), whole, atol=1e-5)


def test_metrics_by_hand():
    values = outcome_metrics(torch.tensor([[1.0], [4.0]]), torch.tensor([2.0, 2.0]), Scale(0.0, 2.0))
    assert values["rmse"] == pytest.approx(np.sqrt(2.5))
    assert values["mae"] == 1.5
    assert values["loss"] == pytest.approx(2.5 / 4)
    logits = torch.tensor([[0.0, 1.0], [0.0, 2.0], [3.0, 0.0]])
    classes = outcome_metrics(logits, torch.tensor([0, 1, 0]))
    assert classes["accuracy"] == pytest.approx(2 / 3)
    assert classes["auc"] == 1.0


def test_a_graph_as_a_bag_of_vertices():
    rows = two_kinds()
    z = graph_sums(rows.graphs)
    assert z[0].tolist() == pytest.approx([np.log(7), np.log(6), 6, 1])
    found = graph_baselines(rows, rows, None, 2)
    assert found["same answer"]["metrics"]["accuracy"] == 0.5
    assert found["structure-blind"]["metrics"]["accuracy"] == 1.0  # a ring has an edge more


def test_messages(tmp_path: Path):
    with pytest.raises(ValueError, match=r"depth must be at least 1, got 0"):
        GINRecipe.make(depth=0)
    with pytest.raises(ValueError, match=r"there must be a graph to predict for, got none"):
        read_new_graphs([])


def rings_and_paths(count: int = 24) -> list[nx.Graph]:
    """Graphs of networkx with their class, and an attribute of vertices that not every graph has all values of."""
    graphs = []
    for i in range(count):
        graph = nx.cycle_graph(4 + i % 5) if i % 2 else nx.path_graph(4 + i % 5)
        graph.graph["label"] = "ring" if i % 2 else "path"
        for v in graph:
            graph.nodes[v]["element"] = "C" if v else ["N", "O", "S"][i % 3]
        graphs.append(graph)
    return graphs


@pytest.mark.untyped
def test_graphs_in_memory_are_kept_in_the_run(tmp_path: Path):
    settings: dict[str, Any] = dict(width=8, depth=3, steps=60, validation=0.2, test=0.2)
    run = train("gin", data=rings_and_paths(), out=tmp_path / "run", **settings)
    again = cut.load(run.path)
    assert again.task.parts.feature_names == tuple(f"element={e}" for e in "CNOS")
    assert again.test()["accuracy"] >= 0.5
    new = rings_and_paths(3)
    assert again.predict(new) == run.predict(new)
    assert run.predict(nx.relabel_nodes(new[1], {0: "a"}))[0]["class"] == run.predict(new)[1]["class"]
    with pytest.raises(ValueError, match="got none called 'element'"):
        run.predict([_with_other_attribute()])


@pytest.mark.untyped
def test_settings_that_the_data_decides():
    """Nothing stops early without graphs to evaluate on; the target of graphs in memory is in their copy."""
    graphs = rings_and_paths(6)
    for graph in graphs:
        graph.graph["kind"] = graph.graph.pop("label")
    recipe = GINRecipe.make(data=graphs, target="kind", validation=0.0, test=0.0)
    begun = recipe.begin()
    assert (recipe.patience, begun.recipe.patience) == (10, 0)
    assert (recipe.target, begun.task.parts.target) == ("", "kind")
    assert begun.task.classes == ["path", "ring"]


def test_a_run_reads_its_graphs_with_the_features_that_it_noted(tmp_path: Path):
    """Folders of TU files and of classes: the same as when they were read for the first time."""
    (tmp_path / "tu").mkdir()
    edges, of, tags = [], [], []
    for g in range(12):
        first = len(of)
        of += [g + 1] * 4
        tags += [g % 3, 1, 2, 1]
        edges += [f"{first + a}, {first + b}" for a, b in ((1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3))]
    for name, lines in (
        ("A", edges),
        ("graph_indicator", of),
        ("graph_labels", [g % 2 for g in range(12)]),
        ("node_labels", tags),
    ):
        (tmp_path / "tu" / f"X_{name}.txt").write_text("\n".join(map(str, lines)) + "\n")
    for i, graph in enumerate(rings_and_paths(12)):
        (tmp_path / "classes" / graph.graph["label"]).mkdir(parents=True, exist_ok=True)
        nx.write_graphml(graph, tmp_path / "classes" / graph.graph["label"] / f"{i}.graphml")
    for folder in ("tu", "classes"):
        settings: dict[str, Any] = dict(data=str(tmp_path / folder), width=4, depth=1, validation=0.2, test=0.2)
        first = GINRecipe.make(**settings).read().parts
        run = train("gin", **settings, steps=2, out=tmp_path / f"run-{folder}")
        again = cut.load(run.path).task.parts
        assert first.feature_names == again.feature_names
        assert len(again.feature_names) > 1
        assert all(torch.equal(a.x, b.x) for a, b in zip(first.train.graphs, again.train.graphs, strict=True))


def _with_other_attribute() -> nx.Graph:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "C", "kind")
    return graph


@pytest.mark.untyped
def test_lists_of_pyg_and_of_graphs_with_targets(tmp_path: Path):
    from torch_geometric.utils import from_networkx

    lists = [from_networkx(nx.path_graph(3 + i % 4)) for i in range(20)]
    for i, data in enumerate(lists):
        data.x, data.y = torch.ones(data.num_nodes, 2), torch.tensor([float(3 + i % 4) + 0.5])
    run = train("gin", data=lists, width=8, depth=2, steps=5, out=tmp_path / "pyg")
    assert run.model.spec.task == "regression"
    plain = [Graph(torch.tensor([[0, 1], [1, 2]]), x=torch.ones(3, 1)) for _ in range(20)]
    run = train("gin", data=(plain, ["a", "b"] * 10), width=8, depth=2, steps=5, out=tmp_path / "plain")
    assert run.about["data"]["summary"].startswith("graphs: graphs for training 16")
    assert run.predict(plain[:2])[0]["class"] in ("a", "b")
    with pytest.raises(ValueError, match=r"needs targets to learn from, got graphs without any"):
        GINRecipe.make(data=plain).job()


def test_new_graphs_have_the_columns_of_training(tmp_path: Path):
    """Tags and degrees that the new file alone would number otherwise."""
    lines = ["12"] + [f"3 {i % 2}\n{1 + i % 3} 1 1\n2 2 0 2\n{i % 2} 1 1" for i in range(12)]
    (tmp_path / "many.txt").write_text("\n".join(lines))
    (tmp_path / "one.txt").write_text("1\n3 0\n2 1 1\n2 2 0 2\n2 1 1")
    run = train("gin", data=str(tmp_path / "many.txt"), width=8, depth=2, steps=5, out=tmp_path / "run")
    names = run.task.parts.feature_names
    assert names == ("tag 0", "tag 1", "tag 2", "tag 3")
    (graph,) = run.task.inputs(str(tmp_path / "one.txt")).graphs
    assert graph.x.tolist() == [[0, 0, 1, 0]] * 3


@pytest.mark.parametrize("settings", [{"readout": "global"}, {"pooling": "clusters"}, {"readout": "attention"}])
def test_readouts_and_pooling_learn(settings: dict[str, Any], tmp_path: Path):
    run = train("gin", data=molecules(tmp_path), width=16, depth=2, steps=60, out=tmp_path / "run", **settings)
    assert run.test()["accuracy"] >= 0.75
