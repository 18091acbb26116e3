r"""`SeriesDensity` is a light model of the next value of a series: a Student-t distribution from lags and the calendar.

    h = tanh(x W + b)                            x: lags of the scaled series, and places in the calendar
    μ = x w + h v,   log σ = x u + h r + c       location and scale of the next value
    y ~ μ + σ · t_ν                              heavy tails, ν learned

The skip from x makes it an autoregression to begin with; the hidden layer adds what is not linear, such as other hours
on weekends. Lange, Little, Taylor 1989 (t errors against outliers).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Dense
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class SeriesDensitySpec(NamedSpec):
    """How many inputs there are (lags, then calendar), which lags, and the width of the hidden layer."""

    model: ClassVar[str] = "SeriesDensity"

    lags: tuple[int, ...]
    calendar: int = 0
    width: int = 32

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(width=self.width)
        if not self.lags or min(self.lags) < 1:
            raise ValueError(f"lags must be steps back, each at least 1, got {self.lags}; try lags=(1, 2)")

    @property
    def inputs(self) -> int:
        """Numbers that go in."""
        return len(self.lags) + self.calendar

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return 1, self.width


class NextValue(NamedTuple):
    """Location, scale and degrees of freedom of the next value's Student-t distribution."""

    location: Float[Tensor, "*b"]
    scale: Float[Tensor, "*b"]
    freedom: Float[Tensor, ""]

    def log_density(self, y: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
        """log p(y)."""
        return torch.distributions.StudentT(self.freedom, self.location, self.scale, validate_args=False).log_prob(y)


class SeriesDensity(Model):
    r"""The distribution of the next value of a scaled series, from lags and places in the calendar.

        μ = x w + tanh(x W + b) v,   log σ = x u + tanh(x W + b) r + c,   y ~ μ + σ t_ν

    It starts as "the same as one step before". Taps: ``hidden``, ``location``, ``scale``. Lange, Little, Taylor 1989.
    """

    kind: ClassVar[type[NamedSpec]] = SeriesDensitySpec
    spec: SeriesDensitySpec

    def __init__(self, spec: SeriesDensitySpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, SeriesDensitySpec))
        inputs, width = self.spec.inputs, self.spec.width
        self.first = Dense(inputs, width, torch.tanh)
        self.direct = nn.Linear(inputs, 2)
        self.second = nn.Linear(width, 2, bias=False)
        self.tail = nn.Parameter(torch.tensor(1.0))
        self.hidden, self.location, self.scale = Tap(), Tap(), Tap()
        with torch.no_grad():
            nn.init.zeros_(self.second.weight)
            nn.init.zeros_(self.direct.weight)
            self.direct.weight[0, 0] = 1.0
            self.direct.bias.copy_(torch.tensor([0.0, -1.0]))

    @override
    def forward(self, x: Float[Tensor, "*b inputs"]) -> NextValue:
        hidden = self.hidden(self.first(x))
        both = self.direct(x) + self.second(hidden)
        scale = torch.exp(both[..., 1].clamp(-8.0, 8.0))
        return NextValue(self.location(both[..., 0]), self.scale(scale), 2.1 + softplus(self.tail))


__all__ = ["NextValue", "SeriesDensity", "SeriesDensitySpec"]
