"""Linear regions along a line: counted by hand, by theorem and by brute force."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from cutaway.blocks import (
    Dense,
    LeakyReLU,
    Linear,
    attainable_regions,
    line_regions,
    region_upper_bound,
    relu,
    relu_network,
)


def network(widths: list[int], activation: type[nn.Module] = nn.ReLU, **options: float) -> nn.Sequential:
    """Random weights; the last layer is linear."""
    layers = [part for i, o in pairwise(widths[:-1]) for part in (nn.Linear(i, o), activation(**options))]
    return nn.Sequential(*layers, nn.Linear(*widths[-2:])).double()


def tent(depth: int) -> nn.Sequential:
    """Telgarsky's sawtooth: g(x) = 2 ReLU(x) − 4 ReLU(x − ½) goes up and down once on [0, 1]; here g ∘ … ∘ g."""
    layers = []
    for _ in range(depth):
        up, down = nn.Linear(1, 2), nn.Linear(2, 1)
        up.weight.data, up.bias.data = torch.tensor([[1.0], [1.0]]), torch.tensor([0.0, -0.5])
        down.weight.data, down.bias.data = torch.tensor([[2.0, -4.0]]), torch.zeros(1)
        layers += [up, nn.ReLU(), down]
    return nn.Sequential(*layers)


def patterns(model: nn.Sequential, x: Tensor) -> Tensor:
    """Which units are on, by running the model."""
    found = []
    for layer in model:
        if not isinstance(layer, nn.Linear):
            found.append(x > 0)
        x = layer(x)
    return torch.cat(found, -1)


def on_line(regions, t: Tensor) -> Tensor:
    piece = torch.searchsorted(regions.breakpoints, t)
    return regions.intercepts[piece] + t[:, None] * regions.slopes[piece]


def test_one_layer_has_one_region_more_than_knots():
    layer = nn.Linear(1, 5)
    layer.weight.data, layer.bias.data = torch.ones(5, 1), -torch.tensor([0.5, 0.125, 0.75, 0.25, 0.875])
    regions = line_regions(nn.Sequential(layer, nn.ReLU(), nn.Linear(5, 2)), [0.0], [1.0])
    assert regions.count == regions.linear_count == 5 + 1
    assert regions.breakpoints.tolist() == [0.125, 0.25, 0.5, 0.75, 0.875]
    assert [p.sum().item() for p in regions.patterns] == [0, 1, 2, 3, 4, 5]


def test_breakpoints_are_told_in_units_of_the_segment():
    layer = nn.Linear(1, 1)
    layer.weight.data, layer.bias.data = torch.ones(1, 1), torch.tensor([-3.0])
    regions = line_regions(nn.Sequential(layer, nn.ReLU()), [1.0], [9.0])
    assert regions.breakpoints.tolist() == [0.25]  # x = 3
    assert (regions.slopes.flatten().tolist(), regions.intercepts.flatten().tolist()) == ([0.0, 8.0], [0.0, -2.0])


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 12])
def test_depth_folds(depth):
    regions = line_regions(tent(depth), [0.0], [1.0])
    assert regions.count == regions.linear_count == 2**depth
    assert torch.equal(regions.breakpoints, torch.arange(1, 2**depth) / 2.0**depth)
    assert torch.equal(regions.slopes.abs(), torch.full((2**depth, 1), 2.0**depth, dtype=torch.float64))


def test_the_attainable_number_is_attained_on_the_line():
    # two pieces outside [0, 1] and the 2² inside: ⌊2/1⌋^1 (1 + 2)
    assert line_regions(tent(2), [-1.0], [2.0]).linear_count == 6 == attainable_regions(inputs=1, width=2, depth=2)


def test_piecewise_functions_have_their_knots_as_kinks():
    knots = torch.tensor([0.0, 0.5, 0.75, 2.0, 4.0])
    regions = line_regions(relu_network(knots, torch.tensor([1.0, -1.0, 2.0, 0.0, 0.5])), [0.0], [4.0])
    torch.testing.assert_close(4 * regions.kinks, knots[1:-1].double())
    assert regions.linear_count == 4
    # the two units of the first segment change places at its zero, x = ¼: another pattern, the same map
    assert regions.count == 5
    torch.testing.assert_close(regions.slopes[0], regions.slopes[1])


@pytest.mark.parametrize(
    ("widths", "activation", "options"),
    [
        ([3, 8, 1], nn.ReLU, {}),
        ([2, 6, 6, 2], nn.ReLU, {}),
        ([5, 7, 3, 7, 4], nn.ReLU, {}),
        ([2, 6, 6, 1], nn.LeakyReLU, {"negative_slope": 0.2}),
        ([1, 9, 9, 1], nn.LeakyReLU, {"negative_slope": -1.0}),  # the absolute value
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_brute_force(widths, activation, options, seed):
    torch.manual_seed(seed)
    model = network(widths, activation, **options)
    a, b = 3 * torch.randn(2, widths[0], dtype=torch.float64)
    regions = line_regions(model, a, b)
    t = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    with torch.no_grad():
        x = a + t[:, None] * (b - a)
        torch.testing.assert_close(on_line(regions, t), model(x), rtol=1e-9, atol=1e-11)
        seen = patterns(model, x)
    piece = torch.searchsorted(regions.breakpoints, t)
    assert torch.equal(regions.patterns[piece], seen)
    ends = torch.cat([torch.zeros(1), regions.breakpoints, torch.ones(1)])
    hit = (ends[1:] - ends[:-1] > 1 / 200_000).sum().item()  # pieces that no sample can miss
    changes = 1 + (seen[1:] != seen[:-1]).any(1).sum().item()
    assert hit <= changes <= regions.count
    assert (regions.patterns[1:] != regions.patterns[:-1]).any(1).all()


def whole_numbers(widths: list[int]) -> nn.Sequential:
    """Weights from −2 to 2: full of units that coincide, vanish, or meet in one point."""
    model = network(widths)
    for parameter in model.parameters():
        parameter.data = torch.randint(-2, 3, parameter.shape).double()
    return model


def exact_pieces(model: nn.Sequential, a: list[int], b: list[int]) -> list[tuple[Fraction, list]]:
    """Left ends and affine maps (p, q), meaning p + q t, of all pieces, in rational arithmetic."""
    pieces = [(Fraction(0), Fraction(1), [(Fraction(x), Fraction(y - x)) for x, y in zip(a, b)])]
    for layer in model:
        if isinstance(layer, nn.Linear):
            rows = [[Fraction(w) for w in row] for row in layer.weight.tolist()]
            biases = [Fraction(x) for x in layer.bias.tolist()]
            pieces = [
                (
                    left,
                    right,
                    [
                        (sum(w * p for w, (p, _) in zip(row, h)) + bias, sum(w * q for w, (_, q) in zip(row, h)))
                        for row, bias in zip(rows, biases)
                    ],
                )
                for left, right, h in pieces
            ]
            continue
        cut = []
        for left, right, h in pieces:
            ends = [left, *sorted({-p / q for p, q in h if q and left < -p / q < right}), right]
            for x, y in pairwise(ends):
                on = [p + q * (x + y) / 2 > 0 for p, q in h]
                cut.append((x, y, [unit if is_on else (0, 0) for unit, is_on in zip(h, on)]))
        pieces = cut
    return [(left, h) for left, _, h in pieces]


@pytest.mark.parametrize("seed", range(40))
def test_exact_even_where_everything_coincides(seed):
    torch.manual_seed(seed)
    hidden = torch.randint(2, 9, (int(torch.randint(1, 5, ())),)).tolist()
    model = whole_numbers([2, *hidden, 1])
    a, b = [-3, 1], [2, -3]
    expected = exact_pieces(model, a, b)
    regions = line_regions(model, a, b)
    assert regions.count == len(expected)
    assert regions.breakpoints.tolist() == pytest.approx([float(left) for left, _ in expected[1:]], abs=1e-12)
    assert regions.slopes.flatten().tolist() == pytest.approx([float(q) for _, [(_, q)] in expected], rel=1e-9)
    joined = 1 + sum(first != second for (_, first), (_, second) in pairwise(expected))
    assert regions.linear_count == joined
    # the same function with rounded weights: units scaled up and down
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    for layer, reader in pairwise(linears):
        scale = torch.rand(layer.out_features, dtype=torch.float64) * 3 + 0.1
        layer.weight.data *= scale[:, None]
        layer.bias.data *= scale
        reader.weight.data /= scale
    rounded = line_regions(model, a, b)
    assert (rounded.count, rounded.linear_count) == (len(expected), joined)


def test_there_and_back(float64):
    model = network([3, 16, 16, 2])
    a, b = torch.randn(2, 3)
    there, back = line_regions(model, a, b), line_regions(model, b, a)
    torch.testing.assert_close(back.breakpoints, 1 - there.breakpoints.flip(0))
    torch.testing.assert_close(back.slopes, -there.slopes.flip(0))


def test_every_spelling_of_a_layer(float64):
    model = network([2, 5, 5, 1])
    ours = [Dense(2, 5, relu), Dense(5, 5, nn.functional.relu), Linear(5, 1)]
    for layer, peer in zip((ours[0].linear, ours[1].linear, ours[2]), (model[0], model[2], model[4])):
        layer.load_state_dict({"weight": peer.weight.T, "bias": peer.bias})
    nested = nn.Sequential(nn.Identity(), nn.Sequential(*ours[:2], nn.Dropout().eval()), ours[2])
    expected, regions = (line_regions(net, [-2.0, -2.0], [2.0, 3.0]) for net in (model, nested))
    torch.testing.assert_close(expected.breakpoints, regions.breakpoints)
    torch.testing.assert_close(expected.slopes, regions.slopes)


def test_leaks():
    layer = Dense(1, 2, LeakyReLU(0.1))
    layer.linear.weight.data, layer.linear.bias.data = torch.tensor([[1.0, -1.0]]), torch.tensor([0.0, 0.5])
    regions = line_regions(layer, [-1.0], [1.0])
    assert regions.breakpoints.tolist() == [0.5, 0.75]
    assert regions.slopes.tolist() == [[0.2, -2.0], [2.0, -2.0], [2.0, -0.2]]


def test_single_precision_weights_are_taken_as_they_are():
    model = network([2, 9, 9, 1]).float()
    rough, exact = (line_regions(net, [-2.0, -1.0], [2.0, 1.0]) for net in (model, model.double()))
    assert torch.equal(rough.breakpoints, exact.breakpoints)
    assert rough.breakpoints.dtype == torch.float64


def shared(weights: list[list[float]], bias: list[float]) -> nn.Linear:
    layer = nn.Linear(len(weights[0]), len(weights)).double()
    layer.weight.data = torch.tensor(weights, dtype=torch.float64)
    layer.bias.data = torch.tensor(bias, dtype=torch.float64)
    return layer


def test_units_that_switch_together_cut_once():
    layer = shared([[0.1], [0.3], [-0.7]], [-0.1 * 0.3, -0.3 * 0.3, 0.7 * 0.3])  # all at 0.3, each rounded its own way
    assert line_regions(nn.Sequential(layer, nn.ReLU()), [0.0], [1.0]).count == 2


def test_a_unit_that_is_not_read_makes_a_region_but_no_kink():
    model = nn.Sequential(shared([[1.0], [1.0]], [-0.25, -0.75]), nn.ReLU(), shared([[1.0, 0.0]], [0.0]))
    regions = line_regions(model, [0.0], [1.0])
    assert (regions.count, regions.linear_count, regions.kinks.tolist()) == (3, 2, [0.25])


def test_a_unit_that_is_zero_along_a_piece_is_off_and_cuts_nothing():
    # h = ReLU(x) − ReLU(x − 0.3) − ReLU(x) + ReLU(x − 0.3) is zero but for rounding
    first = shared([[0.1], [0.1]], [0.0, -0.03])
    second = shared([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0])
    third = shared([[0.1, 0.1], [1.0, 0.0]], [0.0, -0.01])
    regions = line_regions(nn.Sequential(first, nn.ReLU(), second, third, nn.ReLU()), [-1.0], [1.0])
    # x = 0 and 0.3 from the first layer; ReLU(x/10) − ReLU(x/10 − 0.03) passes 0.01 at 0.1
    assert (2 * regions.breakpoints - 1).tolist() == pytest.approx([0.0, 0.1, 0.3])
    assert not regions.patterns[:, 2].any()


def test_a_unit_that_touches_zero_cuts_nothing_there():
    absolute = nn.Sequential(shared([[1.0], [-1.0]], [0.0, 0.0]), nn.ReLU(), shared([[1.0, 1.0]], [0.0]), nn.ReLU())
    regions = line_regions(absolute, [-1.0], [1.0])
    assert (regions.count, regions.breakpoints.tolist()) == (2, [0.5])


def test_no_rectifier_no_cut():
    regions = line_regions(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), [0.0, 0.0], [1.0, 1.0])
    assert regions.count == regions.linear_count == 1
    assert regions.patterns.shape == (1, 0)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 999))
def test_never_more_than_the_upper_bound(hidden, seed):
    torch.manual_seed(seed)
    model = network([1, *hidden, 1])
    regions = line_regions(model, [-20.0], [20.0])
    assert regions.linear_count <= regions.count <= region_upper_bound(sum(hidden))
    assert regions.patterns.unique(dim=0).shape[0] == regions.count  # a line meets each pattern in one interval
    # each layer of Z units cuts a piece into at most Z + 1
    assert regions.count <= math.prod(width + 1 for width in hidden)


def test_bounds_by_hand():
    assert region_upper_bound(10) == 1024
    assert attainable_regions(inputs=2, width=5, depth=1) == 1 + 5 + 10
    assert attainable_regions(inputs=2, width=5, depth=3) == 2**4 * 16
    assert attainable_regions(inputs=3, width=3, depth=4) == 8  # ⌊3/3⌋ = 1: depth adds nothing here
    for inputs in (1, 2, 3):
        for width in range(inputs, 9):
            for depth in (1, 2, 3):
                assert attainable_regions(inputs, width, depth) <= region_upper_bound(width * depth)


def test_messages():
    model = network([2, 3, 1])
    with pytest.raises(
        ValueError, match=r"as many coordinates as the network has inputs, 2, got shape \(3,\); give it 2"
    ):
        line_regions(model, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"a network must have a linear layer, got none; put one before"):
        line_regions(nn.ReLU(), [0.0], [1.0])
    with pytest.raises(ValueError, match=r"two different points, got \[1.0, 2.0\] and \[1.0, 2.0\]; move one"):
        line_regions(model, [1.0, 2.0], [1.0, 2.0])
    for wrong, name in (
        (nn.GELU(), "GELU"),
        (nn.Tanh(), "Tanh"),
        (nn.Hardtanh(), "Hardtanh"),
        (nn.Dropout(), "Dropout"),
    ):
        with pytest.raises(ValueError, match=rf"of linear layers and rectifiers, got {name} with {name}.*use ReLU or"):
            line_regions(nn.Sequential(nn.Linear(2, 3), wrong), [0.0, 0.0], [1.0, 1.0])
    for wrong in (nn.LSTM(3, 3), nn.Flatten(), nn.LayerNorm(3), nn.Conv1d(3, 3, 1)):
        with pytest.raises(ValueError, match=rf"got {type(wrong).__name__} with"):
            line_regions(nn.Sequential(nn.Linear(2, 3), wrong), [0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"got Dense with tanh"):
        line_regions(Dense(2, 3, torch.tanh), [0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"width must be at least inputs, got width=2, inputs=3; try width=3"):
        attainable_regions(inputs=3, width=2, depth=1)
    with pytest.raises(ValueError, match=r"depth must be above 0, got 0; try depth=1"):
        attainable_regions(inputs=1, width=2, depth=0)
    with pytest.raises(ValueError, match=r"units must be 0 or more, got -1; count the hidden units"):
        region_upper_bound(-1)
