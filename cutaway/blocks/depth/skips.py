r"""Skip connections: the input of a block is carried past it and combined with its output.

    y = x + f(x)                            addition: a residual connection
    y = [x, f(x)]                           concatenation: the width grows; dense nets chain it
    y = (x + f(x)) / 2                      average
    y = max(x, f(x))                        maximum, entry by entry
    y = Σⱼ aⱼ cⱼ,  a = softmaxⱼ(⟨q, cⱼ⟩ / √w)   attention over the candidates c = (x, f(x)), q learned

He et al. 2016, eq. 1 (addition); Huang et al. 2017, eq. 2 (concatenation). Notes: N3 §3.7.2–3.7.3, which only names the
other three; attention is ours, the simplest with weights of its own.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_float, expect_positive, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override

COMBINATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, update: x + update,
    "average": lambda x, update: (x + update) / 2,
    "max": torch.maximum,
}


class Residual(nn.Module):
    """A residual connection, y = x + f(x): the block f learns how much to change its input, not what to put there.

    Further arguments go to the block. Taps: ``branch`` (f(x)) and ``output``.
    """

    def __init__(self, block: Callable[..., Tensor]) -> None:
        super().__init__()
        self.block = block
        self.branch = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*s"], *args: Any, **kwargs: Any) -> Float[Tensor, "*s"]:
        update = self.block(x, *args, **kwargs)
        if self.branch.live:
            update = self.branch(update)
        _expect_one_shape("add", x, update)
        y = x + update
        if self.output.live:
            y = self.output(y)
        return y


class Skip(nn.Module):
    """A skip connection, y = combine(x, f(x)), with ``combine`` "add", "average", "max", "concatenate" or your own.

    Your own is a function or module of (x, f(x)), such as `SkipAttention`. ``axis`` is the one that concatenation makes
    longer: -3 for the channels of images (b, c, h, w). Further arguments go to the block. Taps: ``branch`` (f(x)) and
    ``output``.
    """

    def __init__(
        self,
        block: Callable[..., Tensor],
        combine: str | Callable[[Tensor, Tensor], Tensor] = "add",
        axis: int = -1,
    ) -> None:
        super().__init__()
        if isinstance(combine, str):
            expect_choice("combine", combine, [*COMBINATIONS, "concatenate"])
        self.block = block
        self.combine = combine
        self.axis = axis
        self.branch = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "..."], *args: Any, **kwargs: Any) -> Float[Tensor, "..."]:
        update = self.block(x, *args, **kwargs)
        if self.branch.live:
            update = self.branch(update)
        if not isinstance(self.combine, str):
            y = self.combine(x, update)
        elif self.combine == "concatenate":
            _expect_one_shape_but(self.axis, x, update)
            y = torch.cat([x, update], self.axis)
        else:
            _expect_one_shape(self.combine, x, update)
            y = COMBINATIONS[self.combine](x, update)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        if isinstance(self.combine, nn.Module):
            return ""
        if not isinstance(self.combine, str):
            return f"combine={getattr(self.combine, '__name__', self.combine)}"
        return self.combine + (f", axis={self.axis}" if self.combine == "concatenate" and self.axis != -1 else "")


class SkipAttention(nn.Module):
    """Attention over candidates, y = Σⱼ aⱼ cⱼ with a = softmaxⱼ(⟨q, cⱼ⟩ / √w), for two or more of them.

    The ``query`` q is learned and starts at zero, so that y starts as the average. Taps: ``weights`` (a, candidates on
    the last axis) and ``output``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        expect_positive(width=width)
        self.width = width
        self.query = nn.Parameter(torch.zeros(width))
        self.weights = Tap()
        self.output = Tap()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.query)

    @override
    def forward(self, *candidates: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        for c in candidates:
            expect_float("a candidate", c)
            expect_width("a candidate", c, self.width)
            _expect_one_shape("attention", candidates[0], c)
        stacked = torch.stack(candidates, -2)
        a = torch.softmax(stacked @ self.query / math.sqrt(self.width), -1)
        if self.weights.live:
            a = self.weights(a)
        y = (a.unsqueeze(-2) @ stacked).squeeze(-2)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return str(self.width)


class DenselyConnected(nn.Module):
    """A dense net: each block sees all representations before it, z_l = [z_{l−1}, f_l(z_{l−1})] from z_0 = x.

    A block that adds k features makes the next one's input k wider. ``axis`` is the one that grows.
    """

    def __init__(self, blocks: Iterable[Callable[[Tensor], Tensor]], axis: int = -1) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Skip(block, "concatenate", axis) for block in blocks)

    @override
    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        for block in self.blocks:
            x = block(x)
        return x


def _expect_one_shape(combine: str, x: Tensor, update: Tensor) -> None:
    # Without this a (1, w) branch would be broadcast, silently.
    if x.shape != update.shape:
        raise ValueError(
            f"a skip that combines by {combine!r} needs x and f(x) of one shape, got {tuple(x.shape)} and "
            f"{tuple(update.shape)}; let the block keep the shape, or combine by 'concatenate'"
        )


def _expect_one_shape_but(axis: int, x: Tensor, update: Tensor) -> None:
    ours, theirs = list(x.shape), list(update.shape)
    fits = len(ours) == len(theirs) and -len(ours) <= axis < len(ours)
    if fits:
        del ours[axis], theirs[axis]
    if not fits or ours != theirs:
        raise ValueError(
            f"a skip that concatenates along axis {axis} needs x and f(x) alike on all other axes, got "
            f"{tuple(x.shape)} and {tuple(update.shape)}; let the block keep the other axes, or set axis="
        )
