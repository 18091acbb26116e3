"""Places across a row: apart as they must be, and as near as can be to where they would stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from cutaway.look.graph_drawing.columns import BESIDE, LANE, across, apart_at_least

numbers = st.floats(-100, 100)


@given(st.lists(st.tuples(numbers, st.floats(0.1, 10), st.floats(0, 20)), min_size=1, max_size=12))
def test_nearest_places_with_gaps(slots: list[tuple[float, float, float]]):
    """Against scikit-learn: what is left of each place without the gaps before it must not decrease."""
    wanted, weights, gaps = (np.array(column) for column in zip(*slots))
    found = np.array(apart_at_least(wanted.tolist(), weights.tolist(), gaps[:-1].tolist()))
    offsets = np.concatenate([[0.0], gaps[:-1].cumsum()])
    expected = isotonic_regression(wanted - offsets, sample_weight=weights) + offsets
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (np.diff(found) >= gaps[:-1] - 1e-6).all()


def test_a_chain_stands_straight_and_neighbours_keep_apart():
    rows = [["op:0"], ["label:0", "lane:1"], ["op:1", "op:2"]]
    sizes = {
        "op:0": (40.0, 10.0),
        "label:0": (80.0, 10.0),
        "lane:1": (0.0, 0.0),
        "op:1": (30.0, 10.0),
        "op:2": (60.0, 10.0),
    }
    links = [("op:0", "label:0", 0.0, 0.0, 2.0), ("op:0", "lane:1", 0.0, 0.0, 2.0)]
    links += [("label:0", "op:1", 0.0, 0.0, 2.0), ("lane:1", "op:2", 0.0, 0.0, 2.0)]
    x = across(rows, sizes, links)
    assert x["label:0"] == x["op:1"]
    assert x["lane:1"] == x["op:2"]
    assert x["lane:1"] - x["label:0"] >= 40 + BESIDE
    assert x["op:2"] - x["op:1"] >= 45 + BESIDE


def test_lines_end_where_a_group_has_its_border():
    """The line leaves the lower slot 7 right of its middle, so the upper stands 7 right of it."""
    x = across(
        [["op:0"], ["group:1"]], {"op:0": (10.0, 1.0), "group:1": (50.0, 1.0)}, [("op:0", "group:1", 0.0, 7.0, 1.0)]
    )
    assert x["op:0"] - x["group:1"] == pytest.approx(7.0)


def test_lanes_run_close_together():
    x = across([["lane:0", "lane:1"]], {"lane:0": (0.0, 0.0), "lane:1": (0.0, 0.0)}, [])
    assert x["lane:1"] - x["lane:0"] == LANE
