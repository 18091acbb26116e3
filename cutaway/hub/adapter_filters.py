r"""Updates of convolutions as peft keeps them: A as filters to r channels, B as a 1 × 1 convolution back.

    ours        A (inputs / groups · entries, r)          B (r, outputs)
    peft's      A (r, inputs, *kernel)                    B (outputs, r, 1, …)
    in groups   A (groups · r, inputs, *kernel)           B (outputs, r, 1, …)      the same r filters for every group

peft's A reads all groups at once, so that its update is no convolution in groups and cannot be merged; ours has zeros
there. Both have one scale: α of the file is groups times ours, as its rank is.
"""

import math
import warnings
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.updates import LowRank


class Filters(NamedTuple):
    """The filters of a module of a file: one's shape (inputs / groups, *kernel), () of a linear layer; and groups."""

    shape: tuple[int, ...] = ()
    groups: int = 1

    @property
    def points(self) -> tuple[int, ...]:
        """The kernel of a 1 × 1 convolution."""
        return (1,) * len(self.shape[1:])


class Factors(NamedTuple):
    """A and B as a file has them, with their rank and α."""

    a: Tensor
    b: Tensor
    rank: int
    alpha: float


def factors_in_file(update: LowRank, filters: Filters) -> Factors:
    """The factors of an update as peft keeps those of such a layer."""
    a, b, groups = update.a.T, update.b.T, filters.groups
    if not filters.shape:
        return Factors(a, b, update.rank, update.alpha)
    a = a.reshape(update.rank, *filters.shape)
    if groups > 1:
        whole = a.new_zeros(groups, update.rank, groups, *filters.shape)
        for group in range(groups):
            whole[group, :, group] = a
        a = whole.flatten(2, 3).flatten(0, 1)
    alpha = update.alpha * (math.sqrt(groups) if update.rooted else groups)
    return Factors(a, b.reshape(*b.shape, *filters.points), groups * update.rank, alpha)


def factors_from_file(file: Factors, filters: Filters, rooted: bool, module: str) -> Factors:
    """The transposes of our A and B, given those of a file."""
    if not filters.shape:
        return file
    a, b, groups = file.a, file.b, filters.groups
    shape = (filters.shape[0] * groups, *filters.shape[1:])
    if a.shape[1:] != shape or len(a) % groups:
        raise ValueError(f"an adapter must fit its model, got {tuple(a.shape)} for the {shape} of {module}")
    a = a.unflatten(1, (groups, filters.shape[0])).unflatten(0, (groups, -1))  # (groups, r, groups, inputs, *kernel)
    shared = a[0, :, 0]
    if not all(torch.equal(a[i, :, j], shared if i == j else 0 * shared) for i in range(groups) for j in range(groups)):
        raise ValueError(
            f"the update of a convolution in groups must have the same filters for each, got others for {module}; "
            "such an update mixes the groups and fits no merged weight: train that layer with cut.lora"
        )
    alpha = file.alpha / (math.sqrt(groups) if rooted else groups)
    return Factors(shared.flatten(1), b.flatten(1), file.rank // groups, alpha)


def warn_of_peft(layer: nn.Module, module: str) -> None:
    """peft gives its A the stride and padding of a convolution, but neither its dilation nor its padding mode."""
    other: Any = {"dilation": getattr(layer, "dilation", 1), "padding_mode": getattr(layer, "padding_mode", "zeros")}
    plain = other["padding_mode"] == "zeros" and set(torch.as_tensor(other["dilation"]).flatten().tolist()) == {1}
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d) and not plain:
        warnings.warn(
            f"peft leaves out dilation and padding mode in LoRA of convolutions, {module} has {other}: there Cutaway "
            "and peft compute different outputs from one adapter; merge it for use elsewhere",
            stacklevel=3,
        )


__all__ = ["Factors", "Filters", "factors_from_file", "factors_in_file", "warn_of_peft"]
