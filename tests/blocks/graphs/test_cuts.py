"""Cuts: by hand, networkx's, and the trace of HᵀLH."""

import networkx
import pytest
import torch

from cutaway.blocks.graphs.cuts import cut_weights, modularity, normalised_cut, ratio_cut
from cutaway.blocks.graphs.laplacian import laplacian

KARATE = networkx.karate_club_graph()
ADJACENCY = torch.from_numpy(networkx.to_numpy_array(KARATE))
CLUBS = torch.tensor([int(KARATE.nodes[v]["club"] == "Officer") for v in KARATE])


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_to_networkxs(sparse: bool):
    a = ADJACENCY.to_sparse_csr() if sparse else ADJACENCY
    one = {v for v in KARATE if CLUBS[v]}
    cut = networkx.cut_size(KARATE, one, weight="weight")
    assert cut_weights(a, CLUBS).tolist() == [cut, cut]
    theirs = networkx.normalized_cut_size(KARATE, one, weight="weight")
    assert normalised_cut(a, CLUBS).item() == pytest.approx(theirs)
    assert ratio_cut(a, CLUBS).item() == pytest.approx(cut / len(one) + cut / (34 - len(one)))
    sides = [one, set(KARATE) - one]
    theirs = networkx.community.modularity(KARATE, sides, weight="weight")
    assert modularity(a, CLUBS).item() == pytest.approx(theirs)
    assert modularity(a, torch.zeros_like(CLUBS)).item() == pytest.approx(0.0)


def test_the_ratio_cut_is_a_trace_and_bounded_by_eigenvalues():
    """tr(HᵀLH) with H_ik = 1/√|S_k|, at least the sum of the K smallest eigenvalues (Ky Fan)."""
    values = torch.linalg.eigvalsh(laplacian(ADJACENCY))
    for k in (2, 3, 5):
        clusters = torch.randint(k, (34,), generator=torch.Generator().manual_seed(k))
        clusters[:k] = torch.arange(k)
        h = torch.nn.functional.one_hot(clusters, k).double()
        h = h / h.sum(0).sqrt()
        torch.testing.assert_close(ratio_cut(ADJACENCY, clusters), (h.T @ laplacian(ADJACENCY) @ h).trace())
        assert ratio_cut(ADJACENCY, clusters) >= values[:k].sum()


def test_components_cost_nothing():
    two = torch.block_diag(ADJACENCY, ADJACENCY)
    clusters = torch.arange(2).repeat_interleave(34)
    assert ratio_cut(two, clusters) == normalised_cut(two, clusters) == 0
    assert ratio_cut(torch.zeros(3, 3), torch.tensor([0, 2, 2])) == 0  # no edges, and an empty part


@pytest.mark.untyped
def test_mistakes():
    with pytest.raises(ValueError, match=r"got shape \(3,\) of torch.int64 for 34 vertices"):
        ratio_cut(ADJACENCY, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match="numbered from 0 to 0, got -1 to 0"):
        ratio_cut(ADJACENCY, CLUBS - 1)
