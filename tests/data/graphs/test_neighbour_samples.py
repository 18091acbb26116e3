"""Samples of neighbourhoods: what is near, no more than asked, drawn fairly, the same each time."""

import numpy as np

from cutaway.data.graphs.neighbour_samples import InNeighbours, NeighbourBatches, sample_around


def star(leaves: int) -> np.ndarray:
    """Arcs from the leaves 1 … to the centre 0."""
    return np.stack([np.arange(1, leaves + 1), np.zeros(leaves, np.int64)])


def test_all_neighbours_where_they_are_few():
    sampled = sample_around(InNeighbours(star(4), 5), np.array([0]), (10,), seed=0, number=0)
    assert sampled.asked == 1
    assert sampled.vertices.tolist() == [0, 1, 2, 3, 4]
    assert sorted(map(tuple, sampled.arcs.T.tolist())) == [(1, 0), (2, 0), (3, 0), (4, 0)]


def test_at_most_so_many_and_none_twice():
    neighbours = InNeighbours(star(50), 51)
    counts = np.zeros(51)
    for number in range(400):
        sampled = sample_around(neighbours, np.array([0]), (5,), seed=1, number=number)
        assert sampled.arcs.shape == (2, 5)
        assert len(np.unique(sampled.vertices)) == 6
        counts[sampled.vertices[1:]] += 1
    assert counts[1:].mean() == 40
    assert abs(counts[1:] - 40).max() < 25  # four standard deviations: each is as likely as the others


def test_steps_outwards_follow_arcs_of_the_graph():
    rng = np.random.default_rng(0)
    arcs = rng.integers(0, 40, (2, 200))
    real = set(map(tuple, arcs.T.tolist()))
    sampled = sample_around(InNeighbours(arcs, 40), np.array([3, 7]), (3, 2), seed=0, number=5)
    assert sampled.vertices[:2].tolist() == [3, 7]
    assert len(np.unique(sampled.vertices)) == len(sampled.vertices)
    for source, target in sampled.arcs.T:
        assert (sampled.vertices[source], sampled.vertices[target]) in real
    assert np.bincount(sampled.arcs[1]).max() <= 3


def test_batches_are_a_function_of_seed_and_step():
    arcs = np.random.default_rng(0).integers(0, 40, (2, 200))
    batches = NeighbourBatches(InNeighbours(arcs, 40), np.arange(30), (3, 3), batch=8, seed=5)
    first, later = batches.at(3), batches.at(4)
    again = NeighbourBatches(InNeighbours(arcs, 40), np.arange(30), (3, 3), batch=8, seed=5).at(3)
    assert np.array_equal(first.vertices, again.vertices)
    assert np.array_equal(first.arcs, again.arcs)
    assert not np.array_equal(first.vertices[:8], later.vertices[:8])


def test_a_vertex_without_neighbours_stands_alone():
    sampled = sample_around(InNeighbours(star(3), 4), np.array([2]), (4, 4), seed=0, number=0)
    assert sampled.vertices.tolist() == [2]
    assert sampled.arcs.shape == (2, 0)
