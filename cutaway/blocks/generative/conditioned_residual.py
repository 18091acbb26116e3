r"""A residual block of a denoising network, which is told the level of noise (and a class) by a vector c.

    h = conv(φ(norm(x)))
    y = S x + conv(φ(norm(h) ⊙ (1 + a) + b)),      [a, b] = c W + d

The condition moves and stretches the channels between the two convolutions. S is the identity, or a 1 × 1 convolution
where the number of channels changes. The second convolution starts at 0, so the block starts as S x. Norms are group
norms, φ is SiLU. He et al. 2016 (residual); Perez et al. 2018 (FiLM); Dhariwal, Nichol 2021, §3 (adaptive group norm).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_width
from cutaway.blocks.convolution.grids import Conv2d
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.norms.group import GroupNorm
from cutaway.inside.taps import Tap
from cutaway.overriding import override

_GROUPS = 8


def channel_norm(channels: int, affine: bool = True) -> GroupNorm:
    """Group norm with 8 groups, or with 4, 2 or 1 where 8 do not divide the channels.

    >>> channel_norm(32).groups, channel_norm(6).groups
    (8, 2)
    """
    return GroupNorm(channels, math.gcd(channels, _GROUPS), affine=affine)


class ConditionedResidual(nn.Module):
    r"""Two convolutions beside a shortcut; a condition moves and stretches the channels between them.

        y = S x + conv(φ(norm(conv(φ(norm(x)))) ⊙ (1 + a) + b)),   [a, b] = c W + d

    Without a ``condition`` width there are no a and b. Taps: ``branch`` (what is added) and ``output``.
    """

    def __init__(self, inputs: int, outputs: int, condition: int = 0) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs)
        self.condition = condition
        self.first_norm, self.first = channel_norm(inputs), Conv2d(inputs, outputs)
        self.second_norm, self.second = channel_norm(outputs, affine=not condition), Conv2d(outputs, outputs)
        self.to_shift = Linear(condition, 2 * outputs) if condition else None
        self.shortcut = None if inputs == outputs else Conv2d(inputs, outputs, kernel=1)
        self.branch = Tap()
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The second convolution at 0; a and b too, but for what is learned."""
        for layer in (self.second, self.to_shift):
            for parameter in () if layer is None else layer.parameters():
                nn.init.zeros_(parameter)

    @override
    def forward(
        self, x: Float[Tensor, "b i h w"], condition: Float[Tensor, "b c"] | None = None
    ) -> Float[Tensor, "b o h w"]:
        h = self.second_norm(self.first(nn.functional.silu(self.first_norm(x))))
        if self.to_shift is not None:
            if condition is None:
                raise ValueError(
                    f"this block is told what to do by a condition of width {self.condition}, got none; pass it"
                )
            expect_width("condition", condition, self.condition)
            a, b = self.to_shift(condition)[..., None, None].chunk(2, dim=1)
            h = torch.addcmul(b, h, 1 + a)  # h ⊙ (1 + a) + b
        update = self.second(nn.functional.silu(h))
        if self.branch.live:
            update = self.branch(update)
        y = (x if self.shortcut is None else self.shortcut(x)) + update
        if self.output.live:
            y = self.output(y)
        return y
