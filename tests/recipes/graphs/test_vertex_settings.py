"""Recipes that give vertices classes: trained on little graphs, killed, from files and from memory."""

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
from cutaway.recipes.graphs.gat import GATRecipe
from cutaway.recipes.graphs.gcn import GCNRecipe
from cutaway.tasks.subjects import subject_of

LITTLE: dict[str, Any] = dict(steps=12, evaluate_every=4, checkpoint_every=3, log_every=2)


def write_files(folder: Path, seed: int = 0) -> dict[str, str]:
    """Two towns of 20 people who mostly know their own; their age tells a little, their town is what is asked."""
    rng = np.random.default_rng(seed)
    town = np.repeat([0, 1], 20)
    pairs = [(i, j) for i in range(40) for j in range(i) if rng.random() < (0.25 if town[i] == town[j] else 0.02)]
    names = [f"p{i}" for i in range(40)]
    pd.DataFrame([(names[i], names[j]) for i, j in pairs], columns=["source", "target"]).to_csv(
        folder / "edges.csv", index=False
    )
    label = np.where(town, "Ulm", "Bonn").astype(object)
    label[3] = None
    pd.DataFrame({"id": names, "age": 30 + 5 * town + rng.normal(size=40), "town": label}).to_csv(
        folder / "people.csv", index=False
    )
    return {"data": str(folder / "edges.csv"), "vertices": str(folder / "people.csv"), "target": "town"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("gcn")
    return train("gcn", **write_files(folder), steps=80, width=8, out=folder / "run")


def test_learns_the_towns(run: cut.runs.Run):
    assert run.model.spec.inputs == 1
    assert run.model.spec.classes == 2
    found = run.test()
    assert found["accuracy"] >= 0.85
    assert {"baseline_accuracy", "loss", "macro_f1"} <= set(found)
    assert set(run.about["data"]["baselines"]) == {"majority", "features alone", "label propagation"}


def test_vertices_have_vectors(run: cut.runs.Run, tmp_path: Path):
    """Those before the layer that answers, which the model's own trace shows too."""
    vectors = run.embed("all")
    assert vectors.shape == (40, 8)
    graph = run.recipe.vertex_task(run.recipe.dataset(run)).graph
    with cut.trace(run.model, "stages.0.output") as seen:
        run.model(graph)
    torch.testing.assert_close(vectors, seen["stages.0.output"].detach())
    torch.testing.assert_close(run.embed(["p5", "p39"]), vectors[[5, 39]])
    assert run.embed("p5").shape == (8,)
    town = lambda name: int(name[1:]) // 20
    assert sum(town(name) == 1 for name, _ in run.nearest("p25", k=5)) >= 4
    (tmp_path / "names.txt").write_text("p1\np2\n")
    assert [names for names, _ in run.recipe.embedded_items(run, str(tmp_path / "names.txt"))] == [["p1", "p2"]]
    ((names, _),) = run.recipe.embedded_items(run, "all")
    assert len(names) == 40
    with pytest.raises(ValueError, match="a vertex must be one of the graph, got 'p400'"):
        run.embed("p400")
    with pytest.raises(ValueError, match="a model of one layer has no vectors of vertices"):
        cut.models.VertexClassifier(inputs=1, classes=2, width=8, depth=1, layer="gcn").embed(graph)


def test_predicts_by_name(run: cut.runs.Run):
    one = run.predict("p3")  # whose town nobody said
    assert one[0]["vertex"] == "p3"
    assert one[0]["class"] == "Bonn"
    assert one[0]["P(Bonn)"] + one[0]["P(Ulm)"] == pytest.approx(1)
    assert [row["vertex"] for row in run.predict(["p5", "p39"])] == ["p5", "p39"]
    assert len(run.predict("all")) == 40
    again = cut.load(run.path)
    assert again.predict("p3") == one


def test_predicts_for_a_file_of_names(run: cut.runs.Run, tmp_path: Path):
    (tmp_path / "asked.csv").write_text("id,note\np1,x\np2,y\n")
    (tmp_path / "lines.txt").write_text("p7\np8\n")
    assert [r["vertex"] for r in run.predict(run.recipe.read_inputs(str(tmp_path / "asked.csv")))] == ["p1", "p2"]
    assert [r["vertex"] for r in run.predict(run.recipe.read_inputs(str(tmp_path / "lines.txt")))] == ["p7", "p8"]
    with pytest.raises(ValueError, match=r"got 'p77', which is none; did you mean 'p7'"):
        run.predict("p77")


def test_the_command_line_looks_at_a_vertex(run: cut.runs.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from cutaway import cli

    asked = ["look", str(run.path), "--out", str(tmp_path / "page.html")]
    assert cli.run([*asked, "--vertex", "p5"]) == 0
    assert "p5" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert cli.run([*asked, "p4", "--vertex", "p5"]) == 2
    assert "got both 'p5' and 'p4'" in capsys.readouterr().err
    assert cli.run([*asked, "nobody"]) == 2
    assert "a vertex must be one of the graph, got 'nobody'" in capsys.readouterr().err


def test_every_inner_value_has_an_address(run: cut.runs.Run):
    subject = subject_of(run, "p5")
    assert subject.vertices == (5,)
    with cut.trace(run.model, "stages.*.layer.messages", "stages.*.output") as seen:
        logits = run.model(*subject.arguments)
    assert torch.equal(seen["stages.1.output"], logits)
    assert seen["stages.0.layer.messages"].shape[1] == 8


@pytest.mark.parametrize("recipe", ["gcn", "gat"])
def test_killed_and_resumed_it_ends_with_the_same_weights(recipe: str, tmp_path: Path):
    expect_same_after_death(tmp_path, recipe, LITTLE | write_files(tmp_path))


def test_killed_and_resumed_with_samples_of_neighbours(tmp_path: Path):
    expect_same_after_death(tmp_path, "gcn", LITTLE | write_files(tmp_path) | dict(neighbours="3,2", batch=8))


def test_samples_of_neighbours_learn_too(tmp_path: Path):
    run = train(
        "gcn",
        **write_files(tmp_path),
        neighbours="5,5",
        batch=8,
        steps=100,
        width=8,
        out=tmp_path / "run",
    )
    assert run.test()["accuracy"] >= 0.7


def test_samples_of_all_neighbours_are_the_whole_graph(run: cut.runs.Run):
    data = run.recipe.dataset(run)
    whole = run.recipe.vertex_task(data)
    sampled = type(whole)(whole.graph, whole.targets, (1000, 1000, 1000))
    assert torch.allclose(whole.outputs(run.model), sampled.outputs(run.model), atol=1e-6)


def test_attention_is_on_edges(tmp_path: Path):
    run = train("gat", **write_files(tmp_path), heads=2, width=8, steps=60, out=tmp_path / "run")
    graph = subject_of(run).arguments[0]
    with cut.trace(run.model, *run.model.edge_attention) as seen:
        run.model(graph)
    first = seen["stages.0.layer.attention"]
    layer = run.model.stages[0].layer
    arcs = layer.wired(graph).arcs
    assert first.shape == (arcs.shape[1], 2)
    sums = torch.zeros(graph.vertices, 2).index_add(0, arcs[1], first)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)
    assert seen["stages.1.layer.attention"].shape[1] == 1
    assert run.test()["accuracy"] >= 0.75


@pytest.mark.untyped
def test_a_graph_of_networkx_is_kept_in_the_run(tmp_path: Path):
    run = train("gcn", data=nx.karate_club_graph(), target="club", out=tmp_path / "run")
    again = cut.load(tmp_path / "run")
    assert again.predict("33") == run.predict("33")
    assert again.predict("33")[0]["class"] == "Officer"
    assert again.test()["accuracy"] >= 0.8


def test_only_the_first_layer_of_gcn_decays():
    from cutaway.runs.execution import optimizers_of

    recipe = GCNRecipe(data="karate-club")
    job = recipe.job()
    (optimizer,) = optimizers_of(recipe, job.model)
    decayed = [id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]]
    assert decayed == [id(job.model.stages[0].layer.map.weight)]


@pytest.mark.slow
def test_cora_as_published(data_folder: Path, tmp_path: Path):
    """Kipf and Welling report 81.5 % on this split; ten seeds of ours have a mean of 81.8."""
    path = str(data_folder / "graphs" / "cora.npz")
    found = [train("gcn", data=path, seed=seed, out=tmp_path / str(seed)).test() for seed in range(3)]
    assert np.mean([one["accuracy"] for one in found]) > 0.805
    assert max(one["baseline_accuracy"] for one in found) < 0.75


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, r"width must be at least 1, got 0"),
        ({"neighbours": "5"}, r"a count for each layer, got '5' for depth=2; try neighbours=10,10"),
        ({"neighbours": "5,x"}, r"counts with commas between them, got '5,x'"),
        ({"dropout": 1.5}, r"dropout must be .*got 1.5"),
        ({"validation": 0.0, "patience": 3}, r"patience needs something to evaluate on, got patience=3"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        GCNRecipe.make(**settings)


def test_heads_must_fit():
    with pytest.raises(ValueError, match=r"width must be a multiple of heads, got width=10, heads=4"):
        GATRecipe.make(width=10, heads=4, data="karate-club").job()


def heights(folder: Path, seed: int = 0) -> dict[str, str]:
    """A grid of 8 × 8 places whose warmth is a smooth wave, told by a feature with noise."""
    rng = np.random.default_rng(seed)
    grid = nx.grid_2d_graph(8, 8)
    names = {node: f"r{node[0]}c{node[1]}" for node in grid}
    pd.DataFrame([(names[a], names[b]) for a, b in grid.edges], columns=["source", "target"]).to_csv(
        folder / "grid.csv", index=False
    )
    warmth = np.array([20 + 8 * np.sin(a / 2) * np.cos(b / 2) for a, b in grid])
    frame = pd.DataFrame({"id": list(names.values()), "sensor": warmth + rng.normal(0, 3, 64), "warmth": warmth})
    frame["ground"] = np.where(warmth > 20, "sand", "clay")
    frame.to_csv(folder / "places.csv", index=False)
    return {"data": str(folder / "grid.csv"), "vertices": str(folder / "places.csv"), "target": "warmth"}


@pytest.mark.parametrize("recipe", ["gcn", "gat", "grn", "spectral", "graph-transformer"])
def test_values_of_vertices(recipe: str, tmp_path: Path):
    extra: dict[str, Any] = {"patience": 0} | (
        {"filters": "eigenvectors", "frequencies": 8} if recipe == "spectral" else {}
    )
    run = train(recipe, **heights(tmp_path), steps=60, width=8, out=tmp_path / "run", **extra)
    assert run.model.spec.classes == 0
    assert run.model.spec.dropout == 0.0
    found = run.test()
    assert {"loss", "rmse", "mae", "r2", "baseline_rmse"} == set(found)
    assert found["r2"] > 0.3
    assert set(run.about["data"]["baselines"]) == {"mean", "features alone", "neighbours' mean"}
    one = cut.load(run.path).predict("r3c1")
    assert one == run.predict(["r3c1"])
    assert 10 < one[0]["warmth"] < 30


def test_values_killed_and_resumed(tmp_path: Path):
    expect_same_after_death(tmp_path, "gcn", LITTLE | heights(tmp_path))


def test_the_best_weights_by_error(tmp_path: Path):
    run = train("gcn", **write_files(tmp_path), steps=20, best_by="error", out=tmp_path / "run")
    rows = [row for row in run.metrics if row["split"] == "validation"]
    assert all(row["error"] == pytest.approx(1 - row["accuracy"]) for row in rows)
    assert run.metrics[-1]["accuracy"] == max(row["accuracy"] for row in rows)
    with pytest.raises(ValueError, match=r"best_by='error' is for classes, got values"):
        train("gcn", **heights(tmp_path), best_by="error", out=tmp_path / "values")


def test_whole_numbers_are_classes_or_values_as_asked(tmp_path: Path):
    files = heights(tmp_path)
    frame = pd.read_csv(files["vertices"])
    frame["warmth"] = frame["warmth"].round().astype(int)
    frame.to_csv(files["vertices"], index=False)
    classes = GCNRecipe.make(**files).dataset()
    assert len(classes.classes) > 5
    values = GCNRecipe.make(**files, task="values").dataset()
    assert values.classes == ()
    assert values.targets.tolist() == frame["warmth"].tolist()
    with pytest.raises(ValueError, match=r"values must be numbers, got 'clay' in 'ground' of places.csv"):
        GCNRecipe.make(**files | {"target": "ground"}, task="values").dataset()


def test_another_graph_with_the_same_columns(run: cut.runs.Run, tmp_path: Path):
    """A copy of the graph gives the same answers; one with its rows in another order too, by name."""
    files = write_files(tmp_path)
    own = {row["vertex"]: row for row in run.predict("all")}
    people = pd.read_csv(files["vertices"]).sample(frac=1, random_state=0)
    people.drop(columns="town").assign(more="x").to_csv(tmp_path / "again.csv", index=False)
    again = run.predict("all", data=files["data"], vertices=tmp_path / "again.csv")
    assert len(again) == 40
    for row in again:
        assert row["class"] == own[row["vertex"]]["class"]
        assert row["P(Ulm)"] == pytest.approx(own[row["vertex"]]["P(Ulm)"], abs=1e-6)


def test_a_graph_that_has_grown(run: cut.runs.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from cutaway import cli

    files = write_files(tmp_path)
    edges = pd.read_csv(files["data"])
    more = pd.DataFrame([("new", f"p{i}") for i in range(20, 26)], columns=edges.columns)
    pd.concat([edges, more]).to_csv(tmp_path / "edges2.csv", index=False)
    people = pd.read_csv(files["vertices"])
    pd.concat([people, pd.DataFrame([{"id": "new"}])]).to_csv(tmp_path / "people2.csv", index=False)
    asked = ["predict", str(run.path), "--data", str(tmp_path / "edges2.csv")]
    table = ["--vertices", str(tmp_path / "people2.csv")]
    with pytest.warns(UserWarning, match=r"edges2.csv: 1 vertices lack a feature: filled in by the mean of training"):
        assert cli.run([*asked, "new", *table]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("new,Ulm,")
    assert cli.run([*asked, *table, "--out", str(tmp_path / "all.csv")]) == 0
    assert len(pd.read_csv(tmp_path / "all.csv")) == 41
    assert cli.run(["predict", str(run.path), "--out", str(tmp_path / "own.csv")]) == 0  # all of its own graph
    assert len(pd.read_csv(tmp_path / "own.csv")) == 40 == len(run.predict())
    for flags, message in (
        (asked, "every vertex must have the 1 features of training (age), got 0 in edges2.csv"),
        ([*asked, "nobody", *table], "a vertex must be one of the graph, got 'nobody'"),
        (["predict", str(run.path), *table], "--vertices is for --data, got --vertices"),
    ):
        capsys.readouterr()
        assert cli.run(flags) == 2
        assert message in capsys.readouterr().err
    people.rename(columns={"age": "years"}).to_csv(tmp_path / "people2.csv", index=False)
    with pytest.raises(ValueError, match=r"must have the columns of training, got none called 'age'"):
        run.predict(data=files["data"], vertices=tmp_path / "people2.csv")


def test_eigenvectors_of_another_graph_are_computed_anew(tmp_path: Path):
    files = write_files(tmp_path)
    run = train("spectral", **files, filters="eigenvectors", frequencies=8, steps=20, out=tmp_path / "run")
    own, kept = run.predict("all"), run.model.eigenvectors
    with pytest.warns(UserWarning, match=r"eigenvectors of its own graph; those of edges.csv were computed anew"):
        again = run.predict(data=files["data"], vertices=files["vertices"])
    assert [row["class"] for row in again] == [row["class"] for row in own]
    assert run.model.eigenvectors is kept


@pytest.mark.untyped
def test_graphs_in_memory_are_others_too(tmp_path: Path):
    def town(seed: int) -> nx.Graph:
        graph = nx.planted_partition_graph(2, 15, 0.4, 0.03, seed=seed)
        rng = np.random.default_rng(seed)
        for v in graph:
            side = graph.nodes[v].pop("block")
            graph.nodes[v].update(label="ab"[side], height=float(side + rng.normal(0, 0.5)), job="xy"[v % 2])
        return graph

    run = cut.load(train("gcn", data=town(0), steps=80, width=8, out=tmp_path / "run").path)
    assert run.recipe.dataset(run).feature_names == ("height", "job=x", "job=y")
    found = run.predict(data=town(1))
    assert np.mean([row["class"] == "ab"[int(row["vertex"]) // 15] for row in found]) > 0.8


def test_learned_vectors_know_their_own_vertices_alone(tmp_path: Path):
    files = write_files(tmp_path)
    own = pd.read_csv(files["vertices"]).drop(columns="age").to_csv(tmp_path / "names.csv", index=False)
    assert own is None
    run = train("gcn", **files | {"vertices": str(tmp_path / "names.csv")}, steps=30, out=tmp_path / "run")
    edges = pd.read_csv(files["data"]).sample(frac=1, random_state=1)
    edges.to_csv(tmp_path / "mixed.csv", index=False)
    known = {row["vertex"]: row["P(Ulm)"] for row in run.predict("all")}
    for row in run.predict(data=tmp_path / "mixed.csv"):
        assert row["P(Ulm)"] == pytest.approx(known[row["vertex"]], abs=1e-6)
    (tmp_path / "new.csv").write_text("source,target\np1,zoe\n")
    with pytest.raises(ValueError, match=r"by learned vectors alone, got 1 in new.csv that training had not, .*'zoe'"):
        run.predict(data=tmp_path / "new.csv")


@pytest.mark.parametrize(
    ("recipe", "extra", "what"),
    [
        ("gcn", {}, "gcn with layers 'gcn'"),
        ("spectral", {}, "spectral with layers 'chebyshev'"),
        ("grn", {"design": "fixed-point"}, "grn with layers 'fixed-point'"),
    ],
)
def test_weights_below_zero_are_refused_before_there_is_a_folder(recipe: str, extra: dict, what: str, tmp_path: Path):
    graph = nx.karate_club_graph()
    pairs = [{"source": a, "target": b, "weight": -2.5 if (a, b) == (0, 1) else 1.0} for a, b in graph.edges]
    pd.DataFrame(pairs).to_csv(tmp_path / "edges.csv", index=False)
    people = pd.DataFrame({"id": list(graph), "label": [graph.nodes[v]["club"] for v in graph]})
    people.to_csv(tmp_path / "people.csv", index=False)
    files = {"data": str(tmp_path / "edges.csv"), "vertices": str(tmp_path / "people.csv"), "target": "label"}
    with pytest.raises(ValueError, match=rf"{what} need weights of 0 or more, .* got -2.5 for 0 – 1 in edges.csv"):
        train(recipe, **files, **extra, steps=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
