"""Small graphs side by side, and curves of a ranking."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cutaway.look.graph_signals.graph_galleries import graph_gallery, ranking_curves

TRIANGLE = SimpleNamespace(edges=torch.tensor([[0, 1, 2], [1, 2, 0]]), vertices=3, weights=None, directed=False)


def test_every_graph_has_its_cell():
    picture = graph_gallery([TRIANGLE] * 4, [np.array([-1.0, 0, 1])] * 4, list("abcd"), letters=[list("CNO")] * 4)
    vertices = picture.spec()["datasets"]["vertices"]
    assert len(vertices) == 12
    assert len(picture.spec()["datasets"]["edges"]) == 12
    cells = {(int(row["x"]), int(row["y"])) for row in vertices}
    assert cells == {(0, 1), (1, 1), (2, 1), (0, 0)}
    assert [row["head"] for row in picture.spec()["datasets"]["words"]] == list("abcd")
    assert {row["letter"] for row in vertices} == set("CNO")


def test_it_can_be_saved(tmp_path: Path):
    one = graph_gallery([TRIANGLE], [np.zeros(3)], ["one"], title="One")
    assert one.save(tmp_path / "one.svg").read_text().count("<svg") == 1
    curves = ranking_curves({"a": np.linspace(1, 0.5, 300)}, title="Ranking", value="share")
    assert curves.spec()["datasets"]["rows"][0] == {"k": 1, "share": 1.0, "by": "a"}
    assert curves.spec()["datasets"]["rows"][-1]["k"] == 300


def test_mistakes():
    with pytest.raises(ValueError, match=r"a signal and a head for every graph, got 1 graphs, 2 signals, 1 heads"):
        graph_gallery([TRIANGLE], [np.zeros(3)] * 2, ["one"])
    with pytest.raises(ValueError, match=r"a signal must have 3 values, one a vertex, got 2"):
        graph_gallery([TRIANGLE], [np.zeros(2)], ["one"])
