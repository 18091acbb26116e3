"""What becomes of repeats, reverses and self-loops: the rules, each by hand."""

import numpy as np
import pytest

from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.raw_graphs import (
    RawGraph,
    expect_agreement,
    expect_different_names,
    number_names,
    settle_edges,
)


def raw(pairs: list[tuple[int, int]], weights: list[float] | None = None, **more: object) -> RawGraph:
    values = None if weights is None else np.array(weights, np.float64)
    return RawGraph(
        "edges.csv", list("abcde"), np.array(pairs, np.int64).reshape(-1, 2), fingerprint_bytes(b""), values, **more
    )


def test_repeats_are_kept_once_and_counted():
    settled = settle_edges(raw([(0, 1), (1, 2), (0, 1), (0, 1)]), directed=False, keep_loops=False)
    assert settled.pairs.tolist() == [[0, 1], [1, 2]]
    assert settled.weights is None
    assert (settled.repeats, settled.kept.tolist()) == (2, [0, 1])
    assert settled.notes == ("2 edges came again: each counted once",)


def test_weights_of_repeats_add_up():
    settled = settle_edges(raw([(0, 1), (1, 2), (0, 1)], [1, 5, 2.5]), directed=True, keep_loops=False)
    assert settled.pairs.tolist() == [[0, 1], [1, 2]]
    assert settled.weights.tolist() == [3.5, 5]
    assert settled.notes == ("1 edge came again: their weights added up",)


def test_both_ways_of_an_undirected_edge_are_one():
    settled = settle_edges(raw([(1, 0), (2, 1), (0, 1), (1, 2)], [3, 4, 3, 4]), directed=False, keep_loops=False)
    assert settled.pairs.tolist() == [[1, 0], [2, 1]]
    assert settled.weights.tolist() == [3, 4]
    assert settled.repeats == 0
    assert settled.notes == ("every edge is named both ways: undirected, kept once with one weight",)
    plain = settle_edges(raw([(1, 0), (0, 1), (3, 2)]), directed=False, keep_loops=False)
    assert plain.pairs.tolist() == [[1, 0], [3, 2]]
    assert plain.notes == ("1 edge is named both ways: undirected, kept once",)
    directed = settle_edges(raw([(1, 0), (0, 1), (3, 2)]), directed=True, keep_loops=False)
    assert directed.pairs.tolist() == [[1, 0], [0, 1], [3, 2]]


def test_two_ways_with_other_weights_are_refused():
    edges = raw([(1, 0), (2, 1), (0, 1)], [3, 4, 2.5])
    with pytest.raises(
        ValueError, match=r"same weight both ways, got 2\.5 from a to b and 3 back in edges\.csv, the only such edge; "
    ):
        settle_edges(edges, directed=False, keep_loops=False)
    assert settle_edges(edges, directed=True, keep_loops=False).weights.tolist() == [3, 4, 2.5]


def test_a_matrix_must_be_symmetric_or_triangular():
    full = raw([(0, 1), (1, 0), (1, 2)], both_ways=True)
    with pytest.raises(ValueError, match=r"got 1 from b to c and 0 back"):
        settle_edges(full, directed=False, keep_loops=False)
    upper = raw([(0, 1), (0, 2), (1, 2), (1, 1)], both_ways=True)
    assert settle_edges(upper, directed=False, keep_loops=True).pairs.tolist() == [[0, 1], [0, 2], [1, 2], [1, 1]]


def test_self_loops():
    edges = raw([(0, 0), (0, 1), (2, 2), (2, 2)], [1, 2, 3, 4])
    left = settle_edges(edges, directed=False, keep_loops=False)
    assert left.pairs.tolist() == [[0, 1]]
    assert left.notes == ("3 self-loops left out",)
    kept = settle_edges(edges, directed=False, keep_loops=True)
    assert kept.pairs.tolist() == [[0, 0], [0, 1], [2, 2]]
    assert kept.weights.tolist() == [1, 2, 7]
    assert kept.notes == ("3 self-loops kept", "1 edge came again: their weights added up")


def test_repeats_that_are_chosen():
    edges = raw([(0, 1), (1, 0), (0, 1), (1, 2)])
    added = settle_edges(edges, directed=True, keep_loops=False, repeats="add")
    assert added.pairs.tolist() == [[0, 1], [1, 0], [1, 2]]
    assert added.weights.tolist() == [2, 1, 1]
    undirected = settle_edges(edges, directed=False, keep_loops=False, repeats="add")
    assert undirected.pairs.tolist() == [[0, 1], [1, 2]]
    assert undirected.weights.tolist() == [3, 1]
    assert undirected.notes == ("2 edges came again: their weights added up",)
    kept = settle_edges(edges, directed=True, keep_loops=False, repeats="keep")
    assert kept.pairs.tolist() == edges.pairs.tolist()
    assert kept.notes == ("1 edge came again: kept as edges of their own",)
    weighted = raw([(0, 1), (1, 2), (1, 0), (0, 1)], [1, 2, 3, 4])
    for choice, rows, weights in (("first", [0, 1], [1, 2]), ("last", [3, 1], [4, 2])):
        settled = settle_edges(weighted, directed=False, keep_loops=False, repeats=choice)
        assert settled.kept.tolist() == rows
        assert settled.weights.tolist() == weights
        assert settled.notes == (f"2 edges came again: the {choice} is taken",)
    with pytest.raises(ValueError, match=r"repeats must be one of auto, add, first, last, keep, got 'sum'"):
        settle_edges(edges, directed=False, keep_loops=False, repeats="sum")


def test_parallel_edges_that_are_kept_go_with_their_ways_back():
    """A matrix or PyG has both ways of each parallel edge: the second there goes with the second back."""
    edges = raw([(2, 0), (2, 0), (0, 2), (0, 2), (1, 1), (1, 1)], [5, 7, 5, 7, 1, 2], both_ways=True)
    kept = settle_edges(edges, directed=False, keep_loops=True, repeats="keep")
    assert kept.pairs.tolist() == [[2, 0], [2, 0], [1, 1], [1, 1]]
    assert kept.weights.tolist() == [5, 7, 1, 2]
    once = settle_edges(edges, directed=False, keep_loops=True)
    assert (once.pairs.tolist(), once.weights.tolist(), once.repeats) == ([[2, 0], [1, 1]], [12, 3], 2)


def test_weights_of_opposite_sign_contradict():
    edges = raw([(0, 1), (1, 2), (0, 1)], [1, 1, -1])
    with pytest.raises(ValueError, match=r"weights of one sign where it comes again, got 1 and -1 for a – b in edges"):
        settle_edges(edges, directed=False, keep_loops=False)
    assert settle_edges(edges, directed=False, keep_loops=False, repeats="last").weights.tolist() == [-1, 1]


def test_values_of_repeats_must_agree():
    edges = raw([(0, 1), (1, 2), (1, 0)])
    settled = settle_edges(edges, directed=False, keep_loops=False)
    expect_agreement(edges, settled, "'kind'", np.array(["x", "y", "x"], object), "auto")
    for values, words in (
        (np.array(["x", "y", "z"], object), "'x' and 'z' as 'kind' of a – b"),
        (np.array([1.0, 2.0, np.nan]), "1 and none as 'kind' of a – b"),
        (np.array([[1.0, 2], [1, 1], [1, 3]]), r"\(1, 2\) and \(1, 3\) as 'kind' of a – b"),
    ):
        with pytest.raises(ValueError, match=f"must say the same where it comes again, got {words}.*--directed"):
            expect_agreement(edges, settled, "'kind'", values, "auto")
        expect_agreement(edges, settled, "'kind'", values, "first")


def test_a_triangle_of_a_matrix_is_told():
    settled = settle_edges(raw([(0, 1), (0, 2)], both_ways=True), directed=False, keep_loops=True)
    assert settled.notes == ("every edge is given one way alone: taken as undirected",)


def test_vertices_that_no_memory_holds():
    assert number_names(3, "a.mtx") == ["0", "1", "2"]
    with pytest.raises(ValueError, match=r"at most 50,000,000 vertices.*got 1,000,000,000,000 in a\.mtx"):
        number_names(10**12, "a.mtx")


def test_direction_is_not_dropped_silently():
    with pytest.raises(
        ValueError, match=r"undirected graph was asked for, got edges\.csv, whose edges have a direction"
    ):
        settle_edges(raw([(0, 1)], directed=True), directed=False, keep_loops=False)


def test_no_edges():
    settled = settle_edges(raw([]), directed=False, keep_loops=False)
    assert settled.pairs.shape == (0, 2)
    assert settle_edges(raw([], both_ways=True), directed=False, keep_loops=False).pairs.shape == (0, 2)


def test_weights_must_be_finite():
    with pytest.raises(ValueError, match=r"finite weight, got none for b – c"):
        settle_edges(raw([(0, 1), (1, 2)], [1, np.nan]), directed=False, keep_loops=False)


def test_names_that_are_the_same_text():
    with pytest.raises(ValueError, match=r"must differ, got 1 and '1' in a graph; rename one"):
        expect_different_names([1, 2, "1"], "a graph")
    assert expect_different_names([1, " b"], "a graph") == ["1", "b"]


def test_far_more_vertices_than_ends_of_edges_are_a_mistake():
    assert len(number_names(1_000_000, "g", 2)) == 1_000_000  # so few cost little
    assert len(number_names(1_200_000, "g", 300_000)) == 1_200_000
    with pytest.raises(
        ValueError, match=r"got 40,000,000 vertices in g, where at most 39 can have an edge; number its"
    ):
        number_names(40_000_000, "g", 39)


@pytest.mark.parametrize("names", [[2, "2.0"], ["2", "2.0"], [2.0, "2"], ["-3", "-3.00"], [1, "1"]])
def test_whole_numbers_with_a_point_are_the_same_name(names: list[object]):
    with pytest.raises(ValueError, match=r"names of vertices must differ, got .* and .* in g"):
        expect_different_names(names, "g")
    assert expect_different_names([2, "2.5", "3.0", "v2.0"], "g") == ["2", "2.5", "3.0", "v2.0"]
