r"""Bottleneck adapters: a small network after a frozen module, which adds to what the module gives.

    y ← y + φ(y D + d) U + u            D (width, hidden), U (hidden, width); U = 0, u = 0 at first: nothing changes

Houlsby et al. 2019, §2. Notes: N3 §8 (adapters).
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_count, expect_width
from cutaway.blocks.dense.activations import gelu
from cutaway.blocks.low_rank.wrapping import Adapted
from cutaway.inside.quiet import equation_of
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class Bottleneck(nn.Module):
    """y + φ(y D + d) U + u. Taps: ``hidden`` (φ of the sums), ``update`` (what is added).

    ``axis`` of y holds its features: −3 of images, where both maps are 1 × 1 convolutions (Rebuffi et al. 2017). At the
    taps they come last.
    """

    linear_maps = {"down": -1, "up": -1}

    def __init__(
        self, width: int, hidden: int = 64, activation: Callable[[Tensor], Tensor] = gelu, axis: int = -1
    ) -> None:
        super().__init__()
        expect_count(width=width, hidden=hidden)
        self.axis = axis
        self.inputs, self.hidden_width, self.activation = width, hidden, activation
        self.down, self.down_bias = nn.Parameter(torch.empty(width, hidden)), nn.Parameter(torch.empty(hidden))
        self.up, self.up_bias = nn.Parameter(torch.empty(hidden, width)), nn.Parameter(torch.empty(width))
        self.hidden, self.update = Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.down, 0.0, self.inputs**-0.5)
        for parameter in (self.down_bias, self.up, self.up_bias):
            nn.init.zeros_(parameter)

    @override
    def forward(self, y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        y = y.movedim(self.axis, -1)
        expect_width("y", y, self.inputs)
        h = self.activation(y.to(self.down.dtype) @ self.down + self.down_bias)
        if self.hidden.live:
            h = self.hidden(h)
        change = h @ self.up + self.up_bias
        if self.update.live:
            change = self.update(change)
        return (y + change.to(y.dtype)).movedim(-1, self.axis)

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.hidden_width} → {self.inputs}"


class BottleneckAfter(Adapted):
    """f(x), then y ← y + φ(y D + d) U + u for each adapter in use. Of several outputs of f, the first is changed."""

    @override
    def forward(self, *args: Any, **options: Any) -> Any:
        return self._change(self.base(*args, **options))

    def equation(self, *args: Any, **options: Any) -> Any:
        return self._change(equation_of(self.base)(*args, **options))

    def _change(self, y: Any) -> Any:
        first = y[0] if isinstance(y, tuple) else y
        for name in self.active:
            first = cast(Bottleneck, self.held.get_submodule(name))(first)
        if not isinstance(y, tuple):
            return first
        rest = y[1:]
        return type(y)(first, *rest) if hasattr(y, "_fields") else (first, *rest)
