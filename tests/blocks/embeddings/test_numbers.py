"""Numbers in pieces: by hand, as the functions that they make linear, and where the knots lie."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cutaway as cut
from cutaway.blocks import PiecewiseEncoding, piecewise_encode, relu_network
from cutaway.blocks.embeddings.numbers import choose_knots


def encoding(*knots: list[float]) -> PiecewiseEncoding:
    block = PiecewiseEncoding([max(0, len(own) - 1) for own in knots]).double()
    block.set_knots([torch.tensor(own, dtype=torch.float64) for own in knots])
    return block


def test_by_hand():
    # the first number has pieces 0–1 and 1–3, the second none, the third 10–20
    block = encoding([0.0, 1.0, 3.0], [], [10.0, 20.0])
    x = torch.tensor([[2.5, 7.0, 12.0], [-4.0, 7.0, 99.0]], dtype=torch.float64)
    assert block(x).tolist() == [[1.0, 0.75, 0.2], [0.0, 0.0, 1.0]]


def test_a_weighted_sum_is_any_piecewise_linear_function():
    """Σ w_j e_j(x) + c with w the rises between the knots is the function that relu_network builds."""
    knots, values = [-1.0, 0.5, 2.0, 2.5], [3.0, -1.0, 0.0, 7.0]
    x = torch.linspace(-1, 2.5, 71, dtype=torch.float64)[:, None]
    rises = torch.tensor(values, dtype=torch.float64).diff()
    network = relu_network(torch.tensor(knots, dtype=torch.float64), torch.tensor(values, dtype=torch.float64))
    torch.testing.assert_close(encoding(knots)(x) @ rises + values[0], network(x)[:, 0])


def test_no_value_beyond_the_outer_knots():
    block = encoding([0.0, 1.0, 3.0])
    far = torch.tensor([[1e6], [-1e6]], dtype=torch.float64)
    assert block(far).tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_knots_where_the_values_are():
    """Half by rank, half by different values: a column that is 0 in 90 of 100 rows still has knots among the rest."""
    values = torch.cat([torch.zeros(90), torch.arange(1.0, 11.0)])
    knots = choose_knots(values, 6)
    # of 11 different values every third or fourth (places 0, 3.33, 6.67, 10), and of all rows 0, 0, 0 and the last
    assert knots.tolist() == [0.0, 3.0, 7.0, 10.0]


def test_few_values_are_all_knots():
    assert choose_knots(torch.tensor([2.0, 1.0, 2.0, 5.0]), 3).tolist() == [1.0, 2.0, 5.0]
    assert choose_knots(torch.tensor([2.0, 2.0]), 3).tolist() == [2.0]


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=60), st.integers(1, 12))
def test_knots_ascend_from_the_least_to_the_greatest(values: list[float], pieces: int):
    given_values = torch.tensor(values)
    knots = choose_knots(given_values, pieces)
    assert (knots.diff() > 0).all()
    assert len(knots) <= pieces + 1
    assert knots[0] == given_values.min()
    assert knots[-1] == given_values.max()
    assert torch.isin(knots, given_values).all()


def test_every_knot_keeps_order():
    """What is larger has passed no less of any piece."""
    x = torch.randn(50, dtype=torch.float64).sort().values[:, None]
    assert (encoding([-1.0, -0.2, 0.0, 1.5])(x).diff(dim=0) >= 0).all()


def test_knots_are_kept_with_the_weights_and_are_not_learned():
    block = encoding([0.0, 1.0, 3.0], [])
    assert not list(block.parameters())
    with torch.device("meta"):
        other = PiecewiseEncoding((2, 0))
    other.load_state_dict(block.state_dict(), assign=True)
    x = torch.rand(5, 2, dtype=torch.float64)
    assert torch.equal(other(x), block(x))


def test_tap():
    block = encoding([0.0, 1.0])
    with cut.trace(block, "output") as seen:
        y = block(torch.tensor([[0.25]], dtype=torch.float64))
    assert seen["output"].tolist() == y.tolist() == [[0.25]]


def test_bad_pieces():
    with pytest.raises(ValueError, match=r"one at least above 0, got \(0, 0\); try 8 for each"):
        PiecewiseEncoding((0, 0))
    with pytest.raises(ValueError, match=r"0 or above and one at least above 0, got \(2, -1\)"):
        PiecewiseEncoding((2, -1))


def test_bad_knots():
    block = PiecewiseEncoding((2, 1))
    with pytest.raises(ValueError, match=r"a knot more than its pieces, \(2, 1\), got knots for \(1, 1\)"):
        block.set_knots([torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])])
    with pytest.raises(ValueError, match=r"knots must ascend, got some that do not; use choose_knots"):
        block.set_knots([torch.tensor([0.0, 2.0, 1.0]), torch.tensor([0.0, 1.0])])
    with pytest.raises(ValueError, match="pieces must be above 0, got 0; try pieces=16"):
        choose_knots(torch.zeros(3), 0)
    with pytest.raises(ValueError, match="knots need finite values, at least one, got 1 finite of 2; leave missing"):
        choose_knots(torch.tensor([1.0, float("nan")]), 4)


@pytest.mark.untyped
def test_bad_input():
    block = PiecewiseEncoding((2, 1))
    with pytest.raises(ValueError, match=r"the last axis of x must have width 2, got shape \(5, 3\)"):
        block(torch.randn(5, 3))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        piecewise_encode(torch.ones(5, 2, dtype=torch.long), block.column, block.low, block.high)
