r"""Linear regions on a window of the plane, as polygons, and their picture.

    f(x) = x A_r + c_r      for x in polygon r

Each cell is a convex polygon, and a unit that changes sign on it cuts it along a line into two (Sutherland and Hodgman
1974, kept on both sides). Since f is affine on a polygon, a linear colour gradient paints it exactly: the picture is f.
What counts as a region, and the bounds: lines.py. Montúfar et al. 2014. Notes: N3 §2.4.10.
"""

import math
import operator
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.linear_regions.lines import Cell, partition


@dataclass(frozen=True)
class WindowRegions:
    """The polygons of a window, each with its affine map: on polygon r, f(u) = u weights[r] + biases[r].

    The coordinates u are those of the window; they are x itself unless a plane was given.
    """

    polygons: list[Float[Tensor, "_ 2"]]
    weights: Float[Tensor, "r 2 o"]
    biases: Float[Tensor, "r o"]
    patterns: Bool[Tensor, "r units"]
    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def count(self) -> int:
        """How many activation patterns the window meets."""
        return len(self.polygons)

    @property
    def areas(self) -> Float[Tensor, "r"]:
        """Area = ½ Σ (x_i y_{i+1} − x_{i+1} y_i), the shoelace formula."""
        return torch.stack([_shoelace(corners)[0] for corners in self.polygons])

    @property
    def centroids(self) -> Float[Tensor, "r 2"]:
        """The centre of mass of each polygon."""
        return torch.stack([_shoelace(corners)[1] for corners in self.polygons])

    @property
    def linear_count(self) -> int:
        """How many regions remain when neighbours (sharing an edge) with one affine map are joined."""
        return _joined(self)

    def to_svg(self, output: int = 0, size: int = 480) -> str:
        """The picture as a self-contained SVG: regions outlined, filled with the value of one output."""
        if not 0 <= output < self.biases.shape[1]:
            raise ValueError(
                f"output must be one of {self.biases.shape[1]}, got {output}; count from 0, as in f(x)[output]"
            )
        return _draw(self, output, size)


def window_regions(
    network: nn.Module,
    low: Sequence[float] = (-1.0, -1.0),
    high: Sequence[float] = (1.0, 1.0),
    plane: tuple[Tensor, Tensor, Tensor] | None = None,
) -> WindowRegions:
    """The regions f(x) = x A_r + c_r inside the window from corner ``low`` to corner ``high``.

    ``network`` is an nn.Sequential of linear layers and rectifiers, as in `line_regions`. Where it has other than two
    inputs, ``plane`` = (origin, first, second) says where the window lies: x = origin + u₁ first + u₂ second.

    >>> cross = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    >>> cross[0].weight.data = torch.eye(2)  # ReLU(x₁) and ReLU(x₂): four quadrants
    >>> regions = window_regions(cross, (-1, -2), (3, 1))
    >>> regions.count, sorted(regions.areas.tolist())
    (4, [1.0, 2.0, 3.0, 6.0])
    """
    if not len(low) == len(high) == 2 or not all(map(operator.lt, low, high)):
        raise ValueError(
            f"low and high must be the lower left and the upper right corner of a window, got {tuple(low)} and "
            f"{tuple(high)}; give two numbers each, those of high the larger"
        )
    corner = torch.tensor(low, dtype=torch.float64)
    size = torch.tensor(high, dtype=torch.float64) - corner
    vectors = plane or (torch.zeros(2), *torch.eye(2))
    if len(shapes := {tuple(vector.shape) for vector in vectors}) != 1:
        raise ValueError(
            f"plane must be three vectors of one shape, got {sorted(shapes)}; give origin, first and second in x"
        )
    origin, basis = torch.stack(vectors).detach().cpu().double().split([1, 2])
    square: Cell = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    cells, A, c, patterns = partition(
        network, [square], origin[0] + corner @ basis, size[:, None] * basis, _cut_polygon
    )
    # from the coordinates of the unit square to those of the window, which are x itself for the plane (0, e₁, e₂)
    weights = A / size[:, None]
    biases = c - corner @ weights
    polygons = [torch.tensor(cell, dtype=torch.float64) * size + corner for cell in cells]
    (left, bottom), (right, top) = corner.tolist(), (corner + size).tolist()
    return WindowRegions(polygons, weights, biases, patterns, (left, bottom), (right, top))


def _cut_polygon(cell: Cell, values: list[float]) -> list[Cell]:
    above: Cell = []
    below: Cell = []
    for p, q, u, v in zip(cell, cell[1:] + cell[:1], values, values[1:] + values[:1]):
        if u >= 0:
            above.append(p)
        if u <= 0:
            below.append(p)
        if min(u, v) < 0 < max(u, v):
            share = u / (u - v)
            cut = (p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1]))
            above.append(cut)
            below.append(cut)
    return [below, above]


def _shoelace(corners: Tensor) -> tuple[Tensor, Tensor]:
    p = corners - corners[0]  # areas are small differences of large numbers far from the origin
    q = p.roll(-1, 0)
    twice = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    return twice.sum() / 2, corners[0] + ((p + q) * twice[:, None]).sum(0) / (3 * twice.sum())


def _joined(regions: WindowRegions) -> int:
    """Counts classes of polygons under "shares an edge and has the same map", by union–find."""
    root = list(range(regions.count))

    def find(number: int) -> int:
        while root[number] != number:
            root[number] = number = root[root[number]]
        return number

    maps = torch.cat([regions.weights.flatten(1), regions.biases], 1)
    close = 1e-9 * maps.abs().max()
    low, high = torch.tensor([regions.low, regions.high], dtype=torch.float64)
    # The zeros of a unit run on across an edge, so neighbours have whole edges in common, and edges can be matched by
    # their middles. Two grids per axis, half a step apart: at least one of them does not round equal points apart.
    for shift in torch.cartesian_prod(torch.tensor([0.0, 0.5]), torch.tensor([0.0, 0.5])):
        seen: dict[tuple[int, ...], int] = {}
        for number, corners in enumerate(regions.polygons):
            middles = ((corners + corners.roll(-1, 0)) / 2 - low) / (high - low)
            for key in (middles * 2**30 + shift).floor().long().tolist():
                other = seen.setdefault(tuple(key), number)
                if other != number and (maps[other] - maps[number]).abs().max() <= close:
                    root[find(number)] = find(other)
    return len({find(number) for number in root})


# ---------------------------------------------------------------------------------------------------------------------

STOPS = {0: "#2166ac", 50: "#f7f7f7", 100: "#e08214"}  # from blue, the least value, to orange, the greatest


def _draw(regions: WindowRegions, output: int, size: int) -> str:
    (left, bottom), (right, top) = regions.low, regions.high
    scale = size / max(right - left, top - bottom)
    width, height = (right - left) * scale, (top - bottom) * scale
    slopes, shifts = regions.weights[:, :, output], regions.biases[:, output]
    values = torch.cat([p @ w + c for p, w, c in zip(regions.polygons, slopes, shifts)])
    least, greatest = values.min().item(), values.max().item()
    across = math.hypot(right - left, top - bottom)

    def pixels(points: Tensor) -> list[list[float]]:
        return [[(x - left) * scale, (top - y) * scale] for x, y in points.tolist()]

    # Identifiers of their own, for several pictures may stand in one page
    name = f"r{zlib.crc32(repr((values.tolist(), size)).encode()):08x}"
    fills, shapes = [], []
    for number, (corners, w, c) in enumerate(zip(regions.polygons, slopes, shifts)):
        middle, length = corners.mean(0), w.norm().item()
        if length * across <= 1e-3 * (greatest - least):  # as good as constant: the gradient would be too long to draw
            fill = _colour(((middle @ w + c).item() - least) / ((greatest - least) or 1.0))
        else:
            goals = torch.tensor([least, greatest], dtype=torch.float64)
            ends = middle + (goals - middle @ w - c)[:, None] * w / length**2  # where f takes the values of the goals
            (x1, y1), (x2, y2) = pixels(ends)
            fills.append(
                f'<linearGradient id="{name}-{number}" href="#{name}" gradientUnits="userSpaceOnUse" '
                f'x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"/>'
            )
            fill = f"url(#{name}-{number})"
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in pixels(corners))
        shapes.append(f'<polygon points="{path}" fill="{fill}"/>')
    stops = "".join(f'<stop offset="{at}%" stop-color="{colour}"/>' for at, colour in STOPS.items())
    noun = "region" if regions.count == 1 else "regions"
    bar = width + 16
    texts = [
        (0, height + 16, "start", f"{left:g}"),
        (width, height + 16, "end", f"{right:g}"),
        (width / 2, height + 16, "middle", f"{regions.count} linear {noun}"),
        (-6, 10, "end", f"{top:g}"),
        (-6, height, "end", f"{bottom:g}"),
        (bar + 18, 10, "start", f"{greatest:.3g}"),
        (bar + 18, height, "start", f"{least:.3g}"),
    ]
    labels = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in texts
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-48 -8 {width + 136:.0f} {height + 36:.0f}" '
        f'width="{width + 136:.0f}" height="{height + 36:.0f}" role="img" font-family="sans-serif" font-size="12">'
        f"<title>{regions.count} linear {noun} and the value of output {output}</title>"
        f'<defs><linearGradient id="{name}">{stops}</linearGradient>'
        f'<linearGradient id="{name}-bar" href="#{name}" x1="0" y1="1" x2="0" y2="0"/>{"".join(fills)}</defs>'
        f'<g stroke="#222" stroke-width="0.7" stroke-linejoin="round">{"".join(shapes)}</g>'
        f'<rect x="{bar:.1f}" y="0" width="12" height="{height:.1f}" fill="url(#{name}-bar)" stroke="#222"/>'
        f'<g fill="#444">{labels}</g></svg>'
    )


def _colour(share: float) -> str:
    """The colour that the scale has at a share of its length."""
    first, second = (STOPS[0], STOPS[50]) if share < 0.5 else (STOPS[50], STOPS[100])
    part = 2 * share % 1 if share < 1 else 1.0
    pairs = zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]))
    return "#" + bytes(round((1 - part) * a + part * b) for a, b in pairs).hex()
