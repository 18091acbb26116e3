"""Links in three parts: no edge on two sides, negatives that are no edges, the same each time."""

import numpy as np
import pytest

from cutaway.data.graphs.link_splits import PairDraws, pair_keys, split_labelled, split_links


def ring(n: int) -> np.ndarray:
    return np.stack([np.arange(n), (np.arange(n) + 1) % n])


def test_both_directions_of_an_edge_are_on_one_side():
    edges = np.concatenate([ring(50), ring(50)[::-1], np.array([[3], [3]])], 1)  # both ways, and a self-loop
    split = split_links(edges, 50, 0.2, 0.2, seed=0)
    keys = pair_keys(edges, 50)
    for part in (split.validation, split.test):
        true = part.pairs[:, part.targets == 1]
        assert true.shape[1] == 10
        assert not np.isin(pair_keys(true, 50), keys[split.train]).any()
    assert split.train[-1]  # the self-loop
    assert split.train.sum() == 2 * 30 + 1


def test_negatives_are_no_edges_and_fixed():
    edges = ring(30)
    split, again = (split_links(edges, 30, 0.2, 0.2, seed=3) for _ in range(2))
    for part, other in ((split.validation, again.validation), (split.test, again.test)):
        false = part.pairs[:, part.targets == 0]
        assert not np.isin(pair_keys(false, 30), pair_keys(edges, 30)).any()
        assert (false[0] != false[1]).all()
        assert np.array_equal(part.pairs, other.pairs)
    assert not np.array_equal(split.test.pairs, split_links(edges, 30, 0.2, 0.2, seed=4).test.pairs)


def test_bipartite_negatives_join_the_two_sides():
    people, films = np.repeat(np.arange(10), 3), 10 + np.arange(30) % 8
    draws = PairDraws(np.stack([people, films]), 18)
    assert draws.bipartite
    found = draws.draw("test", 0, 40)
    assert (found[0] < 10).all()
    assert (found[1] >= 10).all()


def test_a_graph_in_which_all_are_joined_has_nothing_to_tell():
    edges = np.array([[0, 0, 1], [1, 2, 2]])
    with pytest.raises(ValueError, match="every pair is joined"):
        PairDraws(edges, 3)


def test_too_few_edges():
    with pytest.raises(ValueError, match=r"got 0 pairs with validation=0.1"):
        split_links(np.empty((2, 0), np.int64), 5, 0.1, 0.1, 0)


def test_signs_are_in_every_part():
    edges = np.concatenate([ring(60), ring(60)[::-1]], 1)
    positive = np.tile(np.arange(60) % 3 > 0, 2)
    split = split_labelled(edges, positive.astype(np.int64), 0.2, 0.2, seed=0)
    for part in (split.validation, split.test):
        assert len(part) == 24
        assert part.targets.mean() == pytest.approx(2 / 3, abs=0.1)
        assert not np.isin(pair_keys(part.pairs, 60), pair_keys(edges[:, split.train], 60)).any()
