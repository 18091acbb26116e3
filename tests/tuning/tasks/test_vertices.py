"""Classes of vertices with few labels: an encoder of hidden vertices under a head."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.models.graphs.vertex_classifier import VertexClassifier
from cutaway.tasks.graphs.transfer import GraphReading
from cutaway.tuning.tasks.vertices import TunedVerticesRecipe


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    settings: dict[str, Any] = dict(width=32, steps=40, evaluate_every=20, show="quiet")
    cut.train("masked-graph", data="citations", out=folder / "run", **settings)
    return folder / "run"


def test_a_head_alone_learns_classes(base: Path, tmp_path: Path):
    run = cut.tune(base, data="citations", task="vertices", head_only=True, out=tmp_path / "run", show="quiet")
    found = run.test()
    majority = run.about["data"]["baselines"]["majority"]["metrics"]["accuracy"]
    assert found["accuracy"] > majority + 0.2
    before, after = cut.load(base).model.state_dict(), run.model.state_dict()
    kept = [name for name in before if not name.startswith(("decoder.", "pairs."))]
    assert all(torch.equal(before[name], after[name]) for name in kept)
    name = str(run.task.parts.names[3])
    (answer,) = run.predict(name)
    assert answer["vertex"] == name
    assert abs(sum(value for key, value in answer.items() if key.startswith("P(")) - 1) < 1e-6


def test_what_nobody_chose(base: Path):
    recipe = TunedVerticesRecipe(base=str(base), data="citations").begin().recipe
    assert recipe.full
    assert recipe.rate == 0.001
    assert recipe.warmup == 0


def test_bad_input(base: Path, tmp_path: Path):
    rows = "\n".join(f"{i},{(i + 1) % 20}" for i in range(20))
    (tmp_path / "e.csv").write_text("source,target\n" + rows + "\n")
    (tmp_path / "v.csv").write_text("id,a,b,label\n" + "\n".join(f"{i},{i * 0.5},{i % 3},{i % 2}" for i in range(20)))
    with pytest.raises(ValueError, match=r"every vertex must have the \d+ features of training, got 2 in e\.csv"):
        TunedVerticesRecipe(base=str(base), data=str(tmp_path / "e.csv"), vertices=str(tmp_path / "v.csv")).job()


def two_clubs(folder: Path, seed: int, classes: str) -> dict[str, str]:
    """A graph of two groups of vertices with measurements; its label is called as ``classes``."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, 40)
    pairs = [(i, j) for i in range(40) for j in range(i) if rng.random() < (0.3 if side[i] == side[j] else 0.03)]
    edges, vertices = folder / f"{classes}-e.csv", folder / f"{classes}-v.csv"
    edges.write_text("source,target\n" + "\n".join(f"{i},{j}" for i, j in pairs) + "\n")
    lines = [f"{i},{5 + side[i] + rng.normal():.3f},{rng.normal():.3f},{classes}{side[i]}" for i in range(40)]
    vertices.write_text(f"id,height,weight,{classes}\n" + "\n".join(lines) + "\n")
    return {"data": str(edges), "vertices": str(vertices), "target": classes}


@pytest.mark.parametrize("recipe", ["gcn", "gat"])
def test_a_run_on_one_graph_is_tuned_to_another(recipe: str, tmp_path: Path):
    """The new graph is read on the scale of the base's, and has classes of its own."""
    first = cut.train(recipe, **two_clubs(tmp_path, 0, "team"), steps=30, out=tmp_path / "base", show="quiet")
    other = two_clubs(tmp_path, 1, "party")
    run = cut.tune(first, **other, head_only=True, steps=60, out=tmp_path / "run", show="quiet")
    assert run.test()["accuracy"] > 0.7
    reading = run.task.reading
    assert reading.classes == ("party0", "party1")
    assert reading.features == GraphReading.of_run(first).features
    before, after = first.model.state_dict(), run.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before if name.startswith("stages.0."))
    assert not torch.equal(before["stages.1.layer.bias"], after["stages.1.layer.bias"])
    (there,) = cut.load(run.path).predict("3", data=other["data"], vertices=other["vertices"])
    (here,) = run.predict("3")
    assert there["class"] == here["class"]
    narrow = cut.tune(first, **other, lora=1, steps=2, out=tmp_path / "lora", show="quiet")
    learned = {name.split(".")[1] for name, p in narrow.model.named_parameters() if p.requires_grad}
    assert learned == {"0", "1"}  # LoRA beside the first layer, and the last one whole
    assert narrow.about["data"]["tuning"]["trained"] < narrow.about["data"]["tuning"]["parameters"]


def test_lora_beside_the_maps_of_a_graph_layer():
    """y = layer(x) with W + A B in place of W, for every kind of layer; removed, the layer is as it was."""
    graph = cut.blocks.Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), 4, x=torch.randn(4, 6))
    for layer in ("gcn", "gat", "gatv2", "gin", "sage", "gated", "transformer"):
        torch.manual_seed(0)
        model = VertexClassifier(inputs=6, classes=2, layer=layer, width=4, heads=2).eval()
        before = model(graph)
        summary = cut.lora(model, list(model.lora_targets), rank=2)
        torch.testing.assert_close(model(graph), before)  # 0 at first
        with torch.no_grad():
            for parameter in (p for p in model.parameters() if p.requires_grad):
                parameter.normal_(std=0.3)
        changed = model(graph)
        assert not torch.allclose(changed, before)
        cut.merge(model)
        torch.testing.assert_close(model(graph), changed, atol=1e-5, rtol=1e-4)
        cut.unmerge(model)
        summary.remove()
        torch.testing.assert_close(model(graph), before)


def test_eigenvectors_belong_to_their_graph(tmp_path: Path):
    first = cut.train("spectral", data="karate-club", filters="eigenvectors", steps=2, out=tmp_path / "b", show="quiet")
    with pytest.raises(ValueError, match=r"which holds the eigenvectors of its own; tune a run of masked-graph"):
        TunedVerticesRecipe(base=str(first.path), data="karate-club").job()


@pytest.mark.long
def test_killed_and_resumed(base: Path, tmp_path: Path):
    settings: dict[str, Any] = dict(base=str(base), data="citations", steps=6, checkpoint_every=2, full=True)
    expect_same_after_death(tmp_path, "tuned-vertices", settings)
