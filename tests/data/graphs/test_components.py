"""Connected components beside networkx's."""

import networkx
import torch

import cutaway as cut
from cutaway.data.graphs.components import connected_components


def test_equal_to_networkxs():
    theirs = networkx.gnm_random_graph(60, 40, seed=3)
    ours = connected_components(cut.data.as_graph(theirs))
    assert {frozenset((ours.of == k).nonzero()[0].tolist()) for k in range(len(ours.sizes))} == {
        frozenset(part) for part in networkx.connected_components(theirs)
    }
    assert ours.sizes == tuple(sorted(map(len, networkx.connected_components(theirs)), reverse=True))


def test_direction_does_not_matter_and_empty_is_none():
    graph = cut.blocks.Graph(torch.tensor([[0, 2], [1, 1]]), directed=True)
    assert connected_components(graph).sizes == (3,)
    assert connected_components(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64))).sizes == ()
