r"""The receptive field of a stack of convolutions and poolings: how many inputs one output reads along an axis.

    r = 1 + Σ_l (k_l − 1) d_l Π_{m<l} s_m           inputs that an output reads
    S = Π_l s_l                                     inputs between the fields of neighbouring outputs

k, s and d are kernel, stride and dilation of layer l. Two convolutions of width 3 see 5 inputs; each doubling of the
stride doubles what every later layer adds. For networks with branches and skips, and for the borders, see
`cut.look.receptive_field`, which follows a real pass. Araujo, Norris, Sim 2019, eq. 2. Notes: N3 §6.2.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutaway.blocks.checks import expect_positive


class Reach(NamedTuple):
    """What an output of a stack reads along an axis: ``size`` inputs, and ``stride`` inputs further the next one."""

    size: int
    stride: int


def stack_reach(layers: Iterable[int | Sequence[int]]) -> Reach:
    """r = 1 + Σ_l (k_l − 1) d_l Π_{m<l} s_m; a layer is its kernel, or (kernel, stride), or (kernel, stride, dilation).

    >>> stack_reach([3, 3])  # two convolutions of width 3
    Reach(size=5, stride=1)
    >>> stack_reach([3, 3, (2, 2), 3, 3])  # a pooling between
    Reach(size=14, stride=2)
    """
    size, jump = 1, 1
    for layer in layers:
        kernel, stride, dilation = (*((layer,) if isinstance(layer, int) else layer), 1, 1)[:3]
        expect_positive(kernel=kernel, stride=stride, dilation=dilation)
        size += (kernel - 1) * dilation * jump
        jump *= stride
    return Reach(size, jump)


__all__ = ["Reach", "stack_reach"]
