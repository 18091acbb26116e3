"""Groups of small graphs in rows: every graph is there, in its line."""

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.look.graph_signals.graph_groups import graph_groups

PATH, ALONE = Graph(torch.tensor([[0, 1], [1, 2]])), Graph(torch.zeros(2, 0, dtype=torch.int64), 1)


def test_every_graph_is_in_its_line():
    picture = graph_groups({"real": [PATH, PATH, PATH], "drawn": [ALONE]}, columns=2, caption="Look.")
    assert picture.alt == "Small graphs in rows: 3 real, 1 drawn."
    rows = picture.spec()["datasets"]["vertices"]
    assert len(rows) == 10
    assert [int(row["y"]) for row in rows] == [2] * 6 + [1] * 3 + [0]  # three lines, the first on top
    assert [row["degree"] for row in rows[:3]] == [1, 2, 1]
    assert len(picture.spec()["datasets"]["edges"]) == 6
    assert len(picture.spec()["datasets"]["frames"]) == 4
    assert [word["head"] for word in picture.spec()["datasets"]["words"]] == ["real", "drawn"]


def test_an_empty_group_is_refused():
    with pytest.raises(ValueError, match=r"every group must have a graph to draw, got \{'real': 1, 'drawn': 0\}"):
        graph_groups({"real": [PATH], "drawn": []})
