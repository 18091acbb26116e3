"""`links`: finds the edges that were taken out, recommends, tells friend from foe; killed and resumed; its messages."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from graph_runs import train
from killing import expect_same_after_death

import cutaway as cut
from cutaway.data.graphs.link_splits import pair_keys
from cutaway.recipes.graphs.links import LinksRecipe
from cutaway.tasks.subjects import subject_of

LITTLE: dict[str, Any] = dict(width=8, steps=12, evaluate_every=4, checkpoint_every=3, log_every=2)


def villages(folder: Path, seed: int = 0) -> str:
    """Four villages of 15, in which people know one another; few know anybody elsewhere."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.5 if i // 15 == j // 15 else 0.01)]
    pd.DataFrame([(f"p{i}", f"p{j}") for i, j in pairs], columns=["source", "target"]).to_csv(
        folder / "edges.csv", index=False
    )
    return str(folder / "edges.csv")


def feuds(folder: Path, words: bool = False) -> str:
    """Two clans: friends inside, foes between."""
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(40) for j in range(i) if rng.random() < 0.2]
    same = [i // 20 == j // 20 for i, j in pairs]
    frame = pd.DataFrame([(f"p{i}", f"p{j}") for i, j in pairs], columns=["source", "target"])
    frame["kind" if words else "weight"] = np.where(same, "friend" if words else 1, "foe" if words else -1)
    frame.to_csv(folder / "feuds.csv", index=False)
    return str(folder / "feuds.csv")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    folder = tmp_path_factory.mktemp("links")
    return train("links", data=villages(folder), width=16, steps=60, out=folder / "run")


def test_finds_links_that_were_taken_out(run: cut.runs.Run):
    found = run.test()
    assert found["auc"] > 0.8
    assert {"average_precision", "hits_at_20", "baseline_auc"} <= set(found)
    assert set(run.about["data"]["baselines"]) == {"common neighbours", "Adamic–Adar"}


def test_messages_run_over_training_edges_alone(run: cut.runs.Run):
    task = run.recipe.link_task(run.recipe.dataset(run))
    seen = pair_keys(task.graph.edges.numpy(), 60)
    for part in (task.split.validation, task.split.test):
        assert not np.isin(pair_keys(part.pairs, 60), seen).any()
    assert subject_of(run).arguments[0].edges.shape[1] == len(task.known)


def test_predicts_pairs_and_the_best_new_links(run: cut.runs.Run, tmp_path: Path):
    (tmp_path / "pairs.csv").write_text("source,target\np1,p2\np1,p59\n")
    near, far = run.predict(run.recipe.read_inputs(str(tmp_path / "pairs.csv")))
    assert near["P(link)"] > far["P(link)"]
    assert run.predict([("p1", "p2")])[0] == near
    best = run.predict("p3")
    assert len(best) == 10
    assert sum(int(row["target"][1:]) < 15 for row in best[:3]) >= 2
    data = run.recipe.dataset(run)
    known = {tuple(sorted((data.names[i], data.names[j]))) for i, j in data.graph.edges.T.tolist()}
    assert not any(tuple(sorted((row["source"], row["target"]))) in known for row in best)


def test_recommends_across_two_sides(tmp_path: Path):
    rng = np.random.default_rng(0)
    rows = [(i, j) for i in range(80) for j in range(60) if rng.random() < (0.4 if i % 3 == j % 3 else 0.02)]
    pd.DataFrame([(f"person {i}", f"film {j}") for i, j in rows], columns=["source", "target"]).to_csv(
        tmp_path / "likes.csv", index=False
    )
    run = train("links", data=str(tmp_path / "likes.csv"), width=16, steps=120, out=tmp_path / "run")
    assert set(run.about["data"]["baselines"]) == {"popularity", "shared taste"}
    assert run.test()["auc"] > 0.75
    best = run.predict("person 0")
    assert all(row["target"].startswith("film") for row in best)


@pytest.mark.parametrize("words", [False, True])
def test_tells_friend_from_foe(words: bool, tmp_path: Path):
    settings: dict[str, Any] = {"target": "kind"} if words else {}
    run = train("links", data=feuds(tmp_path, words), width=16, steps=80, out=tmp_path / "run", **settings)
    found = run.test()
    assert found["accuracy"] > 0.8
    assert {"macro_f1", "auc"} <= set(found)
    assert set(run.about["data"]["baselines"]) == {"majority", "balance"}
    assert f"P({'friend' if words else 'positive'})" in run.predict([("p1", "p2")])[0]


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    expect_same_after_death(tmp_path, "links", LITTLE | {"data": villages(tmp_path), "batch": 32})


def test_negatives_of_training_differ_from_step_to_step(run: cut.runs.Run):
    batches = run.recipe.link_task(run.recipe.dataset(run)).batches(16, 0, 1)
    first, later = batches.at(0), batches.at(1)
    assert first.pairs.targets.tolist() == [1] * 16 + [0] * 16
    assert not np.array_equal(first.pairs.pairs[:, 16:], later.pairs.pairs[:, 16:])
    assert np.array_equal(first.pairs.pairs, batches.at(0).pairs.pairs)


def test_no_message_runs_along_a_link_that_is_asked_for(run: cut.runs.Run):
    task = run.recipe.link_task(run.recipe.dataset(run))
    asked, seen = task.batches(16, 0, 1).at(0), []
    hook = run.model.register_forward_pre_hook(lambda model, given: seen.append(given[0]))
    task.cost(run.model, asked)
    hook.remove()
    keys = pair_keys(seen[0].edges.numpy(), 60)
    assert not np.isin(pair_keys(asked.pairs.pairs, 60), keys).any()


def test_messages(tmp_path: Path):
    with pytest.raises(ValueError, match=r"signs need edges with weights above and below 0, got none below"):
        LinksRecipe.make(data=villages(tmp_path), task="signs").job()
    job = LinksRecipe.make(data=villages(tmp_path)).job()
    assert torch.isfinite(job.objective(job.model, job.batches.at(0)))


def test_held_out_edges_of_one_sign_have_no_auc(tmp_path: Path):
    (tmp_path / "few.csv").write_text("source,target,weight\na,b,1\nb,c,-1\nc,d,1\nd,a,-1\na,c,1\n")
    job = LinksRecipe.make(data=str(tmp_path / "few.csv"), validation=0.2, test=0.2).job()
    assert "auc" not in job.evaluate(job.model)
    assert "accuracy" in job.evaluate(job.model)


def labelled(folder: Path, what: str) -> str:
    """Three clans: friends inside, foes between the first two, others unknown to each other; or ratings of films."""
    rng = np.random.default_rng(0)
    if what == "kind":
        rows = [(f"p{i}", f"p{j}", {i // 15, j // 15}) for i in range(45) for j in range(i) if rng.random() < 0.25]
        kind = ["friend" if len(clans) == 1 else "foe" if clans == {0, 1} else "unknown" for *_, clans in rows]
        frame = pd.DataFrame({"source": [a for a, *_ in rows], "target": [b for _, b, _ in rows], "kind": kind})
    else:
        kind_of, good = rng.normal(0, 1, 40), rng.normal(0, 1, 30)
        rows = [(i, j) for i in range(40) for j in range(30) if rng.random() < 0.4]
        stars = [3 + kind_of[i] + good[j] + rng.normal(0, 0.2) for i, j in rows]
        frame = pd.DataFrame({"source": [f"person {i}" for i, _ in rows], "target": [f"film {j}" for _, j in rows]})
        frame["stars"] = np.round(stars, 2)
    frame.to_csv(folder / "labelled.csv", index=False)
    return str(folder / "labelled.csv")


@pytest.mark.parametrize("decoder", ["mlp", "dot"])
def test_edges_of_three_kinds(decoder: str, tmp_path: Path):
    path = labelled(tmp_path, "kind")
    more: dict[str, Any] = {"rate": 0.05} if decoder == "dot" else {}
    run = train("links", data=path, target="kind", decoder=decoder, width=16, steps=120, out=tmp_path / "run", **more)
    assert run.model.spec.kinds == run.model.spec.outputs == 3
    found = run.test()
    assert {"loss", "accuracy", "macro_f1", "baseline_accuracy"} == set(found)
    assert found["accuracy"] > 0.8
    assert set(run.about["data"]["baselines"]) == {"majority", "habits"}
    (row,) = cut.load(run.path).predict([("p1", "p2")])
    assert row["class"] == "friend"
    assert row["P(friend)"] + row["P(foe)"] + row["P(unknown)"] == pytest.approx(1)
    with pytest.raises(ValueError, match=r"classes of edges are told of pairs, got one vertex, 'p1'"):
        run.predict("p1")
    (tmp_path / "few.csv").write_text("source,target,kind\np1,p2,friend\np2,p3,friend\n")
    assert run.predict([("p1", "p3")], data=tmp_path / "few.csv")[0]["class"] in ("friend", "foe", "unknown")
    (tmp_path / "few.csv").write_text("source,target,kind\np1,p2,cousin\n")
    with pytest.raises(ValueError, match=r"must be those of training, foe, friend, unknown, got 'cousin' in 'kind'"):
        run.predict([("p1", "p3")], data=tmp_path / "few.csv")


def test_values_of_edges(tmp_path: Path):
    path = labelled(tmp_path, "stars")
    run = train("links", data=path, target="stars", width=16, steps=150, out=tmp_path / "run")
    assert run.model.spec.signed
    found = run.test()
    assert {"loss", "rmse", "mae", "r2", "baseline_rmse"} == set(found)
    assert found["r2"] > 0.5
    rules = run.about["data"]["baselines"]
    assert rules["habits"]["metrics"]["rmse"] < rules["mean"]["metrics"]["rmse"]
    best = run.predict("person 3")
    assert len(best) == 10
    assert [row["stars"] for row in best] == sorted((row["stars"] for row in best), reverse=True)
    assert all(row["target"].startswith("film") for row in best)
    own = run.predict([("person 1", "film 2")])
    assert run.predict([("person 1", "film 2")], data=path)[0]["stars"] == pytest.approx(own[0]["stars"], abs=1.5)


@pytest.mark.parametrize("target", ["kind", "stars"])
def test_labels_of_edges_killed_and_resumed(target: str, tmp_path: Path):
    settings = LITTLE | {"data": labelled(tmp_path, target), "target": target, "batch": 32}
    expect_same_after_death(tmp_path, "links", settings)


def test_pairs_of_a_graph_that_has_grown(tmp_path: Path):
    """With features, links of people who came later are told by their neighbours."""
    rng = np.random.default_rng(1)
    path = villages(tmp_path)
    people = pd.DataFrame({"id": [f"p{i}" for i in range(60)]})
    people["east"] = [(i // 15) % 2 + rng.normal(0, 0.2) for i in range(60)]
    people["north"] = [(i // 30) + rng.normal(0, 0.2) for i in range(60)]
    people.to_csv(tmp_path / "people.csv", index=False)
    run = train("links", data=path, vertices=str(tmp_path / "people.csv"), width=16, steps=80, out=tmp_path / "run")
    edges = pd.read_csv(path)
    grown = pd.concat([edges, pd.DataFrame({"source": ["new"] * 3, "target": ["p1", "p2", "p3"]})])
    grown.to_csv(tmp_path / "grown.csv", index=False)
    pd.concat([people, pd.DataFrame([{"id": "new", "east": 0, "north": 0}])]).to_csv(tmp_path / "p2.csv", index=False)
    near, far = run.predict([("new", "p5"), ("new", "p50")], data=tmp_path / "grown.csv", vertices=tmp_path / "p2.csv")
    assert near["P(link)"] > far["P(link)"]
    best = run.predict("new", data=tmp_path / "grown.csv", vertices=tmp_path / "p2.csv")
    assert "p1" not in {row["target"] for row in best}
    with pytest.raises(ValueError, match=r"there must be pairs or a vertex to answer for, got none"):
        run.predict(data=tmp_path / "grown.csv", vertices=tmp_path / "p2.csv")


def test_classes_need_a_column(tmp_path: Path):
    with pytest.raises(ValueError, match=r"classes of edges need a column that holds them, got none for edges.csv"):
        LinksRecipe.make(data=villages(tmp_path), task="classes").job()
    with pytest.raises(ValueError, match=r"edge_target must be a column of the table of edges, got 'kin'"):
        LinksRecipe.make(data=labelled(tmp_path, "kind"), target="kin").job()
