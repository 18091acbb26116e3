r"""LoRA on convolutions: a convolution to a few channels, and a 1 × 1 convolution back, beside the frozen one.

    y = conv(x; W, b) + Σ_n (α_n / r_n) conv(x; A_n) B_n        over the adapters n in use

conv(x; A) has the stride, dilation, padding and groups of the frozen layer, and r filters of the same size; B mixes its
r channels at every place. That is the low-rank update of the matrix of filters, W + (α / r) A B, whose columns are
filters: so updates, DoRA and merging are those of linear layers. In groups each is given the same r filters, and B
mixes the channels of each on its own, so that a merged weight exists. Hu et al. 2022, §4.1; convolutions as in peft,
which does not repeat dilation and padding modes. Notes: N3 §8 (fine-tuning).
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.convolution.grids import cross_correlate_grid
from cutaway.blocks.low_rank.linear_layers import channel_axis, correlate_with, is_convolution, matrix_of
from cutaway.blocks.low_rank.lora import LoRA, drop_entries
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class LoRAConv(LoRA):
    """y = conv(x; W, b) + Σ (α / r) conv(x; A) B: ``LoRAConv(conv, rank=8)`` on a convolution of ours or torch's.

    As `LoRA`; the tap ``low`` shows r feature maps for each group, the layer's own tap ``output`` what leaves it.
    """

    @override
    @staticmethod
    def _expect(base: nn.Module) -> None:
        if not is_convolution(base):
            raise ValueError(
                f"LoRAConv wraps a convolution, Conv1d to Conv3d, got {type(base).__name__}; for linear layers use LoRA"
            )

    @override
    def forward(self, x: Float[Tensor, "..."], lengths: Int[Tensor, "..."] | None = None) -> Float[Tensor, "..."]:
        tap = getattr(self.base, "output", None)
        if isinstance(tap, Tap):  # it names what leaves the layer, updates and all
            y = correlate_with(self.base, x, self.weight, self.bias, lengths)
        else:
            y = self.base(x)
        for name in self.active:
            for update in self.updates(name).values():
                y = y + self._change(update, x, lengths).to(y.dtype)
        return tap(y) if isinstance(tap, Tap) and tap.live else y

    def _change(self, update: LowRank, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Δy = (α / r) conv(x; A) B, and what DoRA makes of it."""
        conv, channels = self.base, channel_axis(self.base)
        a = update.a.T.reshape(update.rank, *self.weight.shape[1:])
        a = a.repeat(self.groups, *[1] * (a.ndim - 1))  # the same filters for every group
        z = drop_entries(x, update.dropout, self.training).to(a.dtype)
        change = update.widen(correlate_with(conv, z, a, None, lengths), self._mix)
        if type(update) is LowRank:
            return change
        product = correlate_with(conv, x, self.weight, None, lengths)
        change = update.beside(change.movedim(channels, -1), product.movedim(channels, -1), matrix_of(conv))
        return change.movedim(-1, channels)

    def _mix(self, low: Tensor, b: Float[Tensor, "r o"]) -> Tensor:
        """The channels of every group, mixed at each place: a 1 × 1 convolution."""
        channels, axes = channel_axis(self.base), self.weight.ndim - 2
        before = low.movedim(channels, -1 - axes)
        y = cross_correlate_grid(before, b.T.reshape(*b.T.shape, *[1] * axes), padding="valid", groups=self.groups)
        return y.movedim(-1 - axes, channels)


__all__ = ["LoRAConv"]
