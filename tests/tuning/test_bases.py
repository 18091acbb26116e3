"""A run that holds little of its own: the base is counted in, whatever learned, and however deep it is."""

import json
import shutil

import numpy as np
import pytest
from tiny_bases import reviews, tiny_bert

import cutaway as cut


@pytest.fixture
def tuned(tmp_path):
    tiny_bert(tmp_path / "base", depth=6)
    data = reviews(tmp_path / "data.csv", 60)

    def tune(name, base="base", **how):
        settings = dict(task="classify", show="quiet", seed=1) | how
        return cut.tune(tmp_path / base, data=data, out=tmp_path / name, **settings)

    return tune


def probabilities(folder):
    found = cut.load(folder).predict(["the film was fine", "a dull plot"])
    return np.array([[row["P(neg)"], row["P(pos)"]] for row in found])


@pytest.mark.parametrize(
    "how", [{"head_only": True}, {"last": 1, "steps": 3}, {"head_only": True, "self_contained": True}]
)
def test_fewer_tensors_than_layers(how, tuned, tmp_path):
    tuned("run", **how)
    before = probabilities(tmp_path / "run")
    tuned("again", base="run", head_only=True)
    assert probabilities(tmp_path / "again").shape == (2, 2), "a base that is itself a run with a base"
    (tmp_path / "there").mkdir()
    for name in ("base", "run"):
        shutil.move(tmp_path / name, tmp_path / "there" / name)
    np.testing.assert_array_equal(probabilities(tmp_path / "there" / "run"), before)
    shutil.rmtree(tmp_path / "there" / "base")
    if how.get("self_contained"):
        np.testing.assert_array_equal(probabilities(tmp_path / "there" / "run"), before)
    else:
        with pytest.raises(ValueError, match=r"needs the base that it was tuned from .* got none; looked in .*base"):
            cut.load(tmp_path / "there" / "run").predict(["fine"])


def test_a_design_of_another_size_is_still_refused(tuned, tmp_path):
    tuned("run", head_only=True)
    path = tmp_path / "run" / "config.json"
    about = json.loads(path.read_text())
    about["spec"]["depth"] = 10**9
    path.write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"each layer of config.json must have its tensors, got 1000000000 layers"):
        cut.load(tmp_path / "run").predict(["fine"])
