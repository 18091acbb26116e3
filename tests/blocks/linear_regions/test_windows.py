"""Linear regions on a window: counted by theorem and by brute force, and their picture looked at."""

import io
import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise, permutations

import pytest
import torch
import vl_convert
from PIL import Image
from torch import Tensor, nn

from cutaway.blocks import attainable_regions, line_regions, region_upper_bound, window_regions


def network(widths: list[int], activation: type[nn.Module] = nn.ReLU, **options: float) -> nn.Sequential:
    layers = [part for i, o in pairwise(widths[:-1]) for part in (nn.Linear(i, o), activation(**options))]
    return nn.Sequential(*layers, nn.Linear(*widths[-2:])).double()


def fixed(weight: Tensor, bias: Tensor) -> nn.Linear:
    """y = x W + b."""
    layer = nn.Linear(*weight.shape).double()
    layer.weight.data, layer.bias.data = weight.T.double().contiguous(), bias.double()
    return layer


def patterns(model: nn.Sequential, x: Tensor) -> Tensor:
    found = []
    for layer in model:
        if not isinstance(layer, nn.Linear):
            found.append(x > 0)
        x = layer(x)
    return torch.cat(found, -1)


def lines_near(point: Tensor, number: int) -> nn.Linear:
    """Lines in general position, all of whose crossings are within 1 of the point: tangents of a small circle."""
    angles = torch.arange(number) * 0.6 + 0.1
    normals = torch.stack([angles.cos(), angles.sin()])
    return fixed(normals, -(point @ normals) - 0.1)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_one_layer_over_a_huge_window(width):
    model = nn.Sequential(lines_near(torch.tensor([0.0, 0.0]), width), nn.ReLU(), nn.Linear(width, 3).double())
    regions = window_regions(model, (-1e3, -1e3), (1e3, 1e3))
    assert regions.count == 1 + width + math.comb(width, 2)  # Zaslavsky
    assert regions.count == (attainable_regions(inputs=2, width=width, depth=1) if width > 1 else 2)


def test_random_lines_over_a_huge_window():
    regions = window_regions(network([2, 20, 1]), (-1e6, -1e6), (1e6, 1e6))
    assert regions.count == 1 + 20 + 190


def test_the_attainable_number_is_attained():
    # The first layer folds the plane into a quadrant: (|x₁|, |x₂|), on which the second draws its four lines
    fold = fixed(torch.tensor([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]), torch.zeros(4))
    absolute = fixed(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), torch.zeros(2))
    lines = lines_near(torch.tensor([5.0, 5.0]), 4)
    model = nn.Sequential(fold, nn.ReLU(), absolute, lines, nn.ReLU(), nn.Linear(4, 1).double())
    regions = window_regions(model, (-10.0, -10.0), (10.0, 10.0))
    assert regions.count == 4 * (1 + 4 + 6) == attainable_regions(inputs=2, width=4, depth=2)
    assert regions.count <= region_upper_bound(8)


CASES = {
    "shallow": ([2, 9, 3], nn.ReLU, {}),
    "deep": ([2, 6, 6, 6, 1], nn.ReLU, {}),
    "leaky": ([2, 6, 6, 2], nn.LeakyReLU, {"negative_slope": 0.1}),
    "wide": ([2, 16, 16, 16, 1], nn.ReLU, {}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_polygons_fill_the_window_and_know_their_map(case, seed):
    torch.manual_seed(seed)
    widths, activation, options = CASES[case]
    model = network(widths, activation, **options)
    low, high = (-2.0, -1.0), (3.0, 2.0)
    regions = window_regions(model, low, high)
    assert (regions.areas > 0).all()
    assert regions.areas.sum().item() == pytest.approx(5 * 3, rel=1e-12)
    middles = regions.centroids
    with torch.no_grad():
        values = (middles[:, None] @ regions.weights)[:, 0] + regions.biases
        torch.testing.assert_close(values, model(middles), rtol=1e-9, atol=1e-11)
        assert torch.equal(patterns(model, middles), regions.patterns)
        for corners, A, c in zip(regions.polygons, regions.weights, regions.biases):  # maps agree along the rim, too
            torch.testing.assert_close(corners @ A + c, model(corners), rtol=1e-8, atol=1e-9)
    assert len(regions.patterns.unique(dim=0)) == regions.count
    assert regions.linear_count <= regions.count


@pytest.mark.parametrize("case", ["shallow", "deep", "leaky"])
def test_brute_force(case):
    widths, activation, options = CASES[case]
    model = network(widths, activation, **options)
    regions = window_regions(model, (-3.0, -3.0), (3.0, 3.0))
    step = 6 / 400
    ticks = -3 + step * (torch.arange(400, dtype=torch.float64) + 0.5)
    with torch.no_grad():
        seen = patterns(model, torch.cartesian_prod(ticks, ticks)).unique(dim=0)
    ours = {tuple(row) for row in regions.patterns.tolist()}
    found = {tuple(row) for row in seen.tolist()}
    assert found <= ours
    # a polygon that holds a disc of diameter √2·step around its centroid holds a sample
    for row, corners, middle in zip(regions.patterns.tolist(), regions.polygons, regions.centroids):
        edges = corners.roll(-1, 0) - corners
        to = middle - corners
        inside = ((edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0]) / edges.norm(dim=1)).min()
        assert inside < step or tuple(row) in found


def test_a_line_through_the_window_meets_the_same_patterns():
    model = network([2, 12, 12, 1])
    plane = {tuple(row) for row in window_regions(model, (-2.0, -2.0), (2.0, 2.0)).patterns.tolist()}
    line = line_regions(model, [-2.0, -1.3], [2.0, 1.7])
    assert line.count > 10
    assert {tuple(row) for row in line.patterns.tolist()} <= plane


def test_a_larger_window_has_the_regions_of_a_smaller_one():
    model = network([2, 8, 8, 1])
    small, large = (
        {tuple(row) for row in window_regions(model, (-r, -r), (r, r)).patterns.tolist()} for r in (1.0, 4.0)
    )
    assert small < large


def test_any_plane_through_more_inputs():
    model = network([5, 9, 9, 2])
    origin, first, second = torch.randn(3, 5, dtype=torch.float64)
    regions = window_regions(model, (-1.0, -2.0), (1.0, 3.0), plane=(origin, first, second))
    u = regions.centroids
    with torch.no_grad():
        expected = model(origin + u @ torch.stack([first, second]))
    torch.testing.assert_close((u[:, None] @ regions.weights)[:, 0] + regions.biases, expected, rtol=1e-9, atol=1e-11)


def test_neighbours_with_one_map_are_joined():
    # Four quadrants, but the second unit is not read
    model = nn.Sequential(
        fixed(torch.eye(2), torch.zeros(2)), nn.ReLU(), fixed(torch.tensor([[1.0], [0.0]]), torch.zeros(1))
    )
    regions = window_regions(model)
    assert (regions.count, regions.linear_count) == (4, 2)
    # ReLU(|x₁| − ½) is zero between −½ and ½, although x₁ changes sign there; outside, two regions more
    fold = nn.Sequential(
        fixed(torch.tensor([[1.0, -1.0], [0.0, 0.0]]), torch.zeros(2)),
        nn.ReLU(),
        fixed(torch.tensor([[1.0], [1.0]]), torch.tensor([-0.5])),
        nn.ReLU(),
    )
    assert (window_regions(fold).count, window_regions(fold).linear_count) == (4, 3)
    # without an edge in common, one map makes two regions: zero outside a strip, and a hat inside
    bump = nn.Sequential(fold, fixed(torch.tensor([[-1.0]]), torch.tensor([0.25])), nn.ReLU())
    assert window_regions(bump).linear_count == 5


def test_degenerate_coincidences_make_no_slivers():
    # Three lines through one point, a line twice, and one along the rim of the window
    normals = torch.tensor([[0.1, 0.0, 0.3, 0.3, 1.0], [0.0, 0.7, 0.3, 0.3, 0.0]], dtype=torch.float64)
    point = torch.tensor([0.1, 0.3], dtype=torch.float64)
    bias = -(point @ normals)
    bias[-1] = 1.0  # x₁ = −1
    regions = window_regions(nn.Sequential(fixed(normals, bias), nn.ReLU()))
    assert regions.count == 6
    assert regions.areas.min() > 0.01


def test_no_rectifier_no_cut():
    regions = window_regions(nn.Linear(2, 1), (0.0, 0.0), (2.0, 3.0))
    assert (regions.count, regions.linear_count, regions.areas.tolist()) == (1, 1, [6.0])


def test_the_picture_is_the_function():
    model = network([2, 7, 7, 2])
    regions = window_regions(model, (-3.0, -1.0), (3.0, 2.0))
    svg = regions.to_svg(output=1, size=480)
    root = ElementTree.fromstring(svg)
    assert len(root.findall(".//{*}polygon")) == regions.count
    assert f"{regions.count} linear regions" in svg
    scale, (x0, y0) = 2, (48, 8)  # pixels per unit; the margins
    image = Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=scale))).convert("RGB")
    with torch.no_grad():
        corners = torch.cat(regions.polygons)
        least, greatest = (f(model(corners)[:, 1]).item() for f in (torch.min, torch.max))
        middles = regions.centroids[regions.areas > 0.05]
        shares = (model(middles)[:, 1] - least) / (greatest - least)
    stops = torch.tensor([[0x21, 0x66, 0xAC], [0xF7, 0xF7, 0xF7], [0xE0, 0x82, 0x14]], dtype=torch.float64)
    assert len(middles) > 10
    for (x, y), share in zip(middles.tolist(), (2 * shares).tolist()):
        pixel = image.getpixel((round((80 * (x + 3) + x0) * scale), round((80 * (2 - y) + y0) * scale)))
        first = min(int(share), 1)
        expected = stops[first] + (share - first) * (stops[first + 1] - stops[first])
        assert pixel == pytest.approx(expected.tolist(), abs=4)


def test_pictures_can_share_a_page():
    first, second = (window_regions(network([2, 3, 1])).to_svg() for _ in range(2))
    names = [{e.get("id") for e in ElementTree.fromstring(svg).iter() if e.get("id")} for svg in (first, second)]
    assert not names[0] & names[1]


def test_a_constant_function_can_be_drawn():
    zero = nn.Sequential(fixed(torch.eye(2), torch.zeros(2)), nn.ReLU(), fixed(torch.zeros(2, 1), torch.ones(1)))
    svg = window_regions(zero).to_svg()
    assert (
        ElementTree.fromstring(svg).findall(".//{*}polygon")[0].get("fill") == "#2166ac"
    )  # least and greatest at once


def test_messages():
    model = network([2, 3, 1])
    for low, high in permutations([(0.0, 1.0), (1.0, 0.0)]):
        with pytest.raises(
            ValueError, match=r"upper right corner of a window, got \(.*\) and \(.*\); give two numbers each"
        ):
            window_regions(model, low, high)
    with pytest.raises(ValueError, match=r"got \(0, 0, 0\) and \(1, 1, 1\); give two"):
        window_regions(model, (0, 0, 0), (1, 1, 1))
    with pytest.raises(ValueError, match=r"the network has inputs, 3, got shape \(2,\); give it 3 numbers"):
        window_regions(network([3, 4, 1]))
    with pytest.raises(ValueError, match=r"three vectors of one shape, got \[\(2,\), \(3,\)\]; give origin"):
        window_regions(model, plane=(torch.zeros(2), torch.ones(3), torch.ones(2)))
    with pytest.raises(ValueError, match=r"output must be one of 1, got 1; count from 0"):
        window_regions(model).to_svg(output=1)
