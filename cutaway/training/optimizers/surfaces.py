r"""Surfaces: well-known costs of two parameters, on which the path of an optimizer can be drawn.

    bowl        J = ½ (x² + 10 y²)                          a narrow valley: Hessian diag(1, 10)
    rosenbrock  J = (1 − x)² + 100 (y − x²)²                a bent one
    beale       J = Σ_k (c_k − x + x y^k)²                  flat with steep walls; c = 1.5, 2.25, 2.625
    himmelblau  J = (x² + y − 11)² + (x + y² − 7)²          four minima
    saddle      J = x² − y²                                 none: a gradient of zero that is no minimum

Rosenbrock 1960, Beale 1958, Himmelblau 1972. Notes: N0 §1.5, N3 §3.4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_positive, expect_width


@dataclass(frozen=True)
class Surface:
    """A cost J(x, y), with where it is least (J = 0 there), where to start, and what part of it to draw."""

    name: str
    cost: Callable[[Tensor, Tensor], Tensor]
    minima: tuple[tuple[float, float], ...]
    start: tuple[float, float]
    window: tuple[tuple[float, float], tuple[float, float]]  # (left, right), (bottom, top)

    def __call__(self, points: Float[Tensor, "*b 2"]) -> Float[Tensor, "*b"]:
        expect_width("points", points, 2)
        return self.cost(points[..., 0], points[..., 1])

    def gradient(self, points: Float[Tensor, "*b 2"]) -> Float[Tensor, "*b 2"]:
        """∇J by autograd, at every point."""
        return torch.func.grad(lambda at: self(at).sum())(points)

    def grid(self, count: int) -> Float[Tensor, "{count} {count} 2"]:
        """Points all over the window, the first axis upwards: ``surface(surface.grid(100))`` is its picture."""
        expect_positive(count=count)
        x, y = (torch.linspace(*side, count) for side in self.window)
        return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)


bowl = Surface(
    "bowl",
    lambda x, y: 0.5 * (x**2 + 10 * y**2),
    minima=((0.0, 0.0),),
    start=(-8.0, 2.0),
    window=((-10.0, 10.0), (-4.0, 4.0)),
)
rosenbrock = Surface(
    "rosenbrock",
    lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2,
    minima=((1.0, 1.0),),
    start=(-1.2, 1.0),
    window=((-2.0, 2.0), (-1.0, 3.0)),
)
beale = Surface(
    "beale",
    lambda x, y: (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2,
    minima=((3.0, 0.5),),
    start=(1.0, 1.5),
    window=((-4.5, 4.5), (-4.5, 4.5)),
)
himmelblau = Surface(
    "himmelblau",
    lambda x, y: (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2,
    # y = 11 − x² and x + y² = 7 give x⁴ − 22 x² + x + 114 = 0: these are its roots.
    minima=(
        (3.0, 2.0),
        (-2.805118086952745, 3.131312518250573),
        (-3.779310253377747, -3.283185991286170),
        (3.584428340330492, -1.848126526964404),
    ),
    start=(0.0, 0.0),
    window=((-6.0, 6.0), (-6.0, 6.0)),
)
saddle = Surface(
    "saddle",
    lambda x, y: x**2 - y**2,
    minima=(),
    start=(-1.5, 0.01),
    window=((-2.0, 2.0), (-2.0, 2.0)),
)
SURFACES = {surface.name: surface for surface in (bowl, rosenbrock, beale, himmelblau, saddle)}
