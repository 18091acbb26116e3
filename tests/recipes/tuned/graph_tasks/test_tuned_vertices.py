"""Classes of vertices with few labels: an encoder of hidden vertices under a head."""

from pathlib import Path
from typing import Any

import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.recipes.tuned.graph_tasks.tuned_vertices import TunedVerticesRecipe


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
    recipe: Any = run.recipe
    name = str(recipe.of_run(run).data.names[3])
    (answer,) = run.predict(name)
    assert answer["vertex"] == name
    assert abs(sum(value for key, value in answer.items() if key.startswith("P(")) - 1) < 1e-6


def test_what_nobody_chose(base: Path):
    recipe = TunedVerticesRecipe(base=str(base), data="citations").settled()
    assert recipe.full
    assert recipe.rate == 0.005
    assert recipe.warmup == 0


def test_bad_input(base: Path, tmp_path: Path):
    rows = "\n".join(f"{i},{(i + 1) % 20}" for i in range(20))
    (tmp_path / "e.csv").write_text("source,target\n" + rows + "\n")
    (tmp_path / "v.csv").write_text("id,a,b,label\n" + "\n".join(f"{i},{i * 0.5},{i % 3},{i % 2}" for i in range(20)))
    with pytest.raises(ValueError, match=r"every vertex must have the \d+ features of training, got 2 in e\.csv"):
        TunedVerticesRecipe(base=str(base), data=str(tmp_path / "e.csv"), vertices=str(tmp_path / "v.csv")).job()


@pytest.mark.long
def test_killed_and_resumed(base: Path, tmp_path: Path):
    settings: dict[str, Any] = dict(base=str(base), data="citations", steps=6, checkpoint_every=2, full=True)
    expect_same_after_death(tmp_path, "tuned-vertices", settings)
