r"""Linear regions of a rectifier network: where each unit keeps its sign, the network is one affine map.

    f(x) = x A_r + c_r      for x in region r

How many regions there are says how much a network can bend. With D inputs and L hidden layers of Z units each, H = L Z:

    regions ≤ 2^H                                       each unit is on or off
    ⌊Z/D⌋^{(L−1)D} · Σ_{j≤D} C(Z, j) regions            can be attained if Z ≥ D (✎ N3 writes C(Z, D) for ⌊Z/D⌋)

Counting is exact and goes layer by layer: on a cell on which all earlier units keep their sign, the sums of the next
layer are affine, so they vanish on a point (of a line) or a line (of a window), which cuts the cell in two.

What counts as a region: a maximal piece on which the *activation pattern* is constant. Two neighbours may still have
one affine map (where a unit is not read); ``linear_count`` joins those. A unit that is zero all over a cell counts as
off there and cuts nothing, nor does one that touches zero at the rim. All this up to rounding: cells are computed in
float64, and a sum is taken for zero if it is below 1e-12 of what its terms can add up to.

Montúfar et al. 2014, thm. 5; Zaslavsky 1975 (one layer); Telgarsky 2016; Hanin and Rolnick 2019 (activation regions).
Notes: N0 §1.1 (Thm. 1.7), N3 §2.4.10.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Dense, Linear

Point = tuple[float, ...]
Cell = list[Point]  # its corners, in order: two on a line, three or more in the plane
Split = Callable[[Cell, list[float]], list[Cell]]
RELATIVE_ZERO = 1e-12


def region_upper_bound(units: int) -> int:
    """No network with H rectifiers has more than 2^H = ``region_upper_bound(H)`` regions."""
    if units < 0:
        raise ValueError(f"units must be 0 or more, got {units}; count the hidden units")
    return 2**units


def attainable_regions(inputs: int, width: int, depth: int) -> int:
    """Some network of ``depth`` hidden layers has this many: ⌊Z/D⌋^{(L−1)D} Σ_{j≤D} C(Z, j), Z = width, D = inputs.

    >>> attainable_regions(inputs=2, width=4, depth=1), attainable_regions(inputs=2, width=4, depth=3)
    (11, 176)
    """
    expect_positive(inputs=inputs, width=width, depth=depth)
    if width < inputs:
        raise ValueError(f"width must be at least inputs, got width={width}, inputs={inputs}; try width={inputs}")
    return (width // inputs) ** ((depth - 1) * inputs) * sum(math.comb(width, j) for j in range(inputs + 1))


@dataclass(frozen=True)
class LineRegions:
    """The pieces along x(t) = start + t (end − start), 0 ≤ t ≤ 1: on piece r, f(x(t)) = intercepts[r] + t slopes[r]."""

    breakpoints: Float[Tensor, "_"]
    slopes: Float[Tensor, "r o"]
    intercepts: Float[Tensor, "r o"]
    patterns: Bool[Tensor, "r units"]

    @property
    def count(self) -> int:
        """How many activation patterns the line meets."""
        return len(self.slopes)

    @property
    def kinks(self) -> Float[Tensor, "_"]:
        """The breakpoints at which the slope changes."""
        jumps = self.slopes.diff(dim=0).abs().amax(1)
        return self.breakpoints[jumps > 1e-9 * self.slopes.abs().max()]

    @property
    def linear_count(self) -> int:
        """How many pieces remain when neighbours with one affine map are joined."""
        return len(self.kinks) + 1


def line_regions(
    network: nn.Module, start: Float[Tensor, "i"] | Sequence[float], end: Float[Tensor, "i"] | Sequence[float]
) -> LineRegions:
    """The regions that the segment from ``start`` to ``end`` passes through: f(x(t)) = intercept + slope t on each.

    ``network`` is an nn.Sequential of Linear (torch's or ours), Dense, ReLU, leaky ReLU, or any φ with φ(s) = s for
    s ≥ 0 and a multiple of s below.

    >>> tent = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    >>> for parameter, numbers in zip(tent.parameters(), ([[1.0], [1.0]], [0.0, -0.5], [[2.0, -4.0]], [0.0])):
    ...     parameter.data = torch.tensor(numbers)
    >>> regions = line_regions(tent, [0.0], [1.0])
    >>> regions.count, regions.breakpoints.tolist(), regions.slopes.flatten().tolist()
    (2, [0.5], [2.0, -2.0])
    """
    a, b = (torch.as_tensor(point).detach().cpu().double() for point in (start, end))
    if a.shape != b.shape or torch.equal(a, b):
        raise ValueError(
            f"start and end must be two different points, got {a.tolist()} and {b.tolist()}; move one of them"
        )
    cells, slopes, intercepts, patterns = partition(network, [[(0.0,), (1.0,)]], a, (b - a)[None, :], _cut_interval)
    breakpoints = torch.tensor([left for (left,), _ in cells[1:]], dtype=torch.float64)
    return LineRegions(breakpoints, slopes[:, 0], intercepts, patterns)


def _cut_interval(cell: Cell, values: list[float]) -> list[Cell]:
    ((a,), (b,)), (u, v) = cell, values
    cut = (a + (b - a) * u / (u - v),)
    return [[cell[0], cut], [cut, cell[1]]]


# ---------------------------------------------------------------------------------------------------------------------
# Cells of any shape: a line and a window differ in how one is cut.


class Affine(NamedTuple):
    """x W + b in float64."""

    weight: Tensor
    bias: Tensor


def partition(
    network: nn.Module, cells: list[Cell], origin: Tensor, basis: Tensor, split: Split
) -> tuple[list[Cell], Tensor, Tensor, Tensor]:
    """Cuts cells until each has one pattern; with them A_r (r, k, o), c_r (r, o) and the patterns (r, units).

    Corners are coordinates u in [0, 1]^k of points x = origin + u basis, and the affine maps are maps of u.
    """
    layers = read_layers(network)
    linears = [layer for layer in layers if isinstance(layer, Affine)]
    if not linears:
        raise ValueError("a network must have a linear layer, got none; put one before the rectifiers")
    inputs = linears[0].weight.shape[0]
    if origin.shape != (inputs,):
        raise ValueError(
            f"points must have as many coordinates as the network has inputs, {inputs}, got shape "
            f"{tuple(origin.shape)}; give it {inputs} numbers"
        )
    A, c = basis[None], origin[None]
    zero = torch.zeros_like(c)
    patterns = [torch.empty(1, 0, dtype=torch.bool)]
    for layer in layers:
        if isinstance(layer, Affine):
            W, b = layer
            # What the terms of each sum can add up to on [0, 1]^k: rounding is relative to that, not to the sum
            zero = RELATIVE_ZERO * ((A.abs().sum(1) + c.abs()) @ W.abs() + b.abs())
            A, c = A @ W, c @ W + b
            continue
        cells, parents = _cut_all(cells, A, c, zero, split)
        A, c, zero, patterns = A[parents], c[parents], zero[parents], [p[parents] for p in patterns]
        lowest, highest = _extremes(cells, A, c, zero)
        on = lowest + highest > 0
        slope = torch.full_like(c, layer).masked_fill(on, 1.0)
        slope[(lowest == 0) & (highest == 0)] = 0  # zero all over the cell: keep its rounding out of the next layers
        A, c = A * slope[:, None], c * slope
        patterns.append(on)
    return cells, A.masked_fill(A.abs() <= zero[:, None], 0.0), c, torch.cat(patterns, 1)


def _extremes(cells: list[Cell], A: Tensor, c: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the greatest value of every unit on every cell: an affine function has them at corners."""
    most = max(len(cell) for cell in cells)
    corners = torch.tensor([cell + cell[-1:] * (most - len(cell)) for cell in cells], dtype=torch.float64)
    values = corners @ A + c[:, None]
    values[values.abs() <= zero[:, None]] = 0
    return values.amin(1), values.amax(1)


def _cut_all(cells: list[Cell], A: Tensor, c: Tensor, zero: Tensor, split: Split) -> tuple[list[Cell], Tensor]:
    """Cuts every cell along the zeros of every unit; with the parts, the numbers of the cells they come from."""
    lowest, highest = _extremes(cells, A, c, zero)
    where, unit = ((lowest < 0) & (highest > 0)).nonzero(as_tuple=True)
    coefficients = torch.cat([A[where, :, unit], c[where, unit, None], zero[where, unit, None]], 1).tolist()
    cuts: dict[int, list[list[float]]] = {}
    for number, row in zip(where.tolist(), coefficients):
        cuts.setdefault(number, []).append(row)
    result: list[Cell] = []
    parents: list[int] = []
    for number, cell in enumerate(cells):
        parts = [cell]
        for *slope, shift, tiny in cuts.get(number, ()):
            cut: list[Cell] = []
            for part in parts:
                sums = [sum(map(float.__mul__, slope, corner), shift) for corner in part]
                values = [0.0 if abs(value) <= tiny else value for value in sums]
                cut += split(part, values) if min(values) < 0 < max(values) else [part]
            parts = cut
        result += parts
        parents += [number] * len(parts)
    return result, torch.tensor(parents)


# ---------------------------------------------------------------------------------------------------------------------
# Reading a network.


def read_layers(network: nn.Module) -> list[Affine | float]:
    """The affine maps of a network, and for each rectifier between them its slope below zero, in order."""
    if isinstance(network, nn.Sequential):
        return [layer for child in network for layer in read_layers(child)]
    if isinstance(network, Dense):
        return read_layers(network.linear) + _rectifier(network.activation, network)
    if isinstance(network, Linear | nn.Linear):
        weight = network.weight if isinstance(network, Linear) else network.weight.T
        W = weight.detach().cpu().double()
        return [Affine(W, W.new_zeros(W.shape[1]) if network.bias is None else network.bias.detach().cpu().double())]
    return _rectifier(network, network)


def _rectifier(activation: Any, module: nn.Module) -> list[Affine | float]:
    """Rectifiers are recognised by their values, not by name: φ(s) = s above zero, a multiple of s below."""
    if activation is None:
        return []
    s = torch.logspace(-6, 6, 25, dtype=torch.float64)
    try:
        with torch.no_grad():
            above, below = activation(s), activation(-s) / -s
    except (IndexError, RuntimeError, TypeError, ValueError):  # it wants another shape or dtype
        above = below = s
    if torch.equal(above, s) and torch.allclose(below, below[:1], rtol=1e-12, atol=0):
        return [] if below[0] == 1 else [below[0].item()]
    raise ValueError(
        f"a network must be an nn.Sequential of linear layers and rectifiers, got {type(module).__name__} with "
        f"{getattr(activation, '__name__', activation)}; use ReLU or leaky ReLU, and put dropout into eval mode"
    )
