"""The checks that do not show where a graph is built: those are in test_graph.py."""

import pytest
import torch

from cutaway.blocks.graphs.graph_checks import expect_edges, expect_rows


@pytest.mark.untyped
def test_edges_must_be_a_tensor():
    with pytest.raises(ValueError, match=r"must be a tensor of shape \(2, edges\), got list"):
        expect_edges([(0, 1)])


def test_masks_are_no_edges():
    with pytest.raises(ValueError, match=r"whole vertex numbers, got torch.bool"):
        expect_edges(torch.ones(2, 3, dtype=torch.bool))


def test_features_have_two_axes():
    with pytest.raises(ValueError, match=r"one row per vertex, got \(3, 2, 1\)"):
        expect_rows("x", torch.zeros(3, 2, 1), 3, "vertex")
