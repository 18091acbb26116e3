r"""What tuning did to the weights: how far each matrix moved, and in how many directions.

‖W′ − W‖_F / ‖W‖_F          the length of the update beside that of the weights
erank(W′ − W)               the number of directions that it uses (Roy and Vetterli 2007)
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.blocks.low_rank.effective_rank import effective_rank
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.pages.picture import Picture

_LARGEST = 4096  # rows or columns up to which singular values are computed: those of a vocabulary take too long
_BLOCK = 1024  # rows at once
_ROUNDING = 4  # spacings of the numbers: an update that is shorter in the mean is none


class WeightChange(NamedTuple):
    """The update of one matrix: the layer that it is in ("" outside of layers), and which part of it."""

    name: str
    layer: str
    part: str
    relative: float
    rank: float  # NaN of a matrix that is too large
    most: int  # the rank that it could have


def weight_changes(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> list[WeightChange]:
    """The updates of all matrices that two state dicts have in common, in the order of the second."""
    found = []
    for name in after:  # one matrix after another: all of them at once may take more memory than the models
        old, new = before.get(name), after[name]
        if old is None or old.shape != new.shape or new.ndim < 2 or not new.is_floating_point():
            continue
        moved, length = _norms(old, new)
        relative = moved / length if length else float("nan")
        small = max(new.flatten(1).shape) <= _LARGEST
        rank = 0.0 if small else float("nan")
        if relative < _ROUNDING * torch.finfo(new.dtype).eps:  # as when DoRA is put into the weights
            relative = rank = 0.0
        elif small:
            rank = float(effective_rank((new.detach().double() - old.detach().double()).flatten(1).float().cpu()))
        found.append(WeightChange(name, *split_name(name), relative, rank, min(new.flatten(1).shape)))
    return found


def _norms(old: Tensor, new: Tensor) -> tuple[float, float]:
    """‖W′ − W‖_F and ‖W‖_F in float64, some rows after others."""
    squares = [0.0, 0.0]
    for w, v in zip(old.detach().flatten(1).split(_BLOCK), new.detach().flatten(1).split(_BLOCK), strict=True):
        w, v = w.double(), v.double()
        squares[0] += float((v - w).square().sum())
        squares[1] += float(w.square().sum())
    return squares[0] ** 0.5, squares[1] ** 0.5


def split_name(name: str) -> tuple[str, str]:
    """The layer and the part of a tensor's name.

    >>> split_name("blocks.3.mlp.up.weight"), split_name("stages.0.1.conv.weight"), split_name("embed.weight")
    (('blocks.3', 'mlp.up'), ('stages.0.1', 'conv'), ('', 'embed'))
    """
    plain = name.removesuffix(".weight")
    match = re.match(r"((?:\w+\.)?\w+?(?:\.\d+)+)\.(.+)$", plain)
    return (match[1], match[2]) if match else ("", plain)


def weight_change_pictures(changes: list[WeightChange], allowed: Mapping[str, int] | None = None) -> list[Picture]:
    """How far the matrices of each layer moved, and in how many directions: layers × parts.

    ``allowed`` are the ranks of the LoRA that made the updates, by the names of matrices, if one did.
    """
    inside = [change for change in changes if change.layer]
    if not inside or all(change.relative == 0 for change in inside):
        return []
    layers, parts = (list(dict.fromkeys(names)) for names in zip(*((c.layer, c.part) for c in inside)))
    moved, ranks = np.full((len(layers), len(parts)), np.nan), np.full((len(layers), len(parts)), np.nan)
    for change in inside:
        at = layers.index(change.layer), parts.index(change.part)
        moved[at], ranks[at] = change.relative, change.rank
    percent = 100 * np.nanmax(moved)
    pictures = [
        heatmap(
            moved,
            layers,
            short_names(parts),
            title="How far tuning moved the weights",
            value="|ΔW| / |W|",
            axes=("layer", "part"),
        ).captioned(
            f"A brighter cell is a matrix that changed more; {_where(moved, layers, parts)} changed most, by "
            f"{percent:,.{0 if percent >= 10 else 2}f}% of its own length."
        )
    ]
    if np.isfinite(ranks).any() and np.nanmax(ranks) > 0:
        pictures.append(
            heatmap(
                ranks,
                layers,
                short_names(parts),
                title="In how many directions: effective rank of ΔW",
                value="effective rank",
                axes=("layer", "part"),
            ).captioned(_directions(inside, allowed or {}))
        )
    return pictures


def _directions(changes: list[WeightChange], allowed: Mapping[str, int]) -> str:
    """How many directions the updates use; those of LoRA beside what it has, as others may use all."""
    by_lora = [change for change in changes if change.name in allowed and change.rank == change.rank]
    counted = by_lora or [change for change in changes if change.rank == change.rank]
    used = f"{min(c.rank for c in counted):.0f} to {max(c.rank for c in counted):.0f}"
    if not by_lora:
        most = max(change.most for change in counted)
        rule = "the fewer, the lower the rank of a LoRA that could hold them"
        return f"Updates use {used} of up to {most} directions: {rule}."
    ranks = {allowed[change.name] for change in by_lora}
    has = f"the {max(ranks)} directions that LoRA of rank {max(ranks)} has"
    return f"Updates use {used} of {has if len(ranks) == 1 else f'up to {max(ranks)} directions that LoRA has there'}."


def short_names(parts: list[str]) -> list[str]:
    """The last words of the parts' names, if these tell them apart.

    >>> short_names(["attention.qkv", "mlp.up"]), short_names(["first.conv", "second.conv"])
    (['qkv', 'up'], ['first.conv', 'second.conv'])
    """
    last = [part.rpartition(".")[2] for part in parts]
    return last if len(set(last)) == len(parts) else parts


def _where(matrix: np.ndarray, rows: list[str], columns: list[str]) -> str:
    row, column = np.unravel_index(np.nanargmax(matrix), matrix.shape)
    return f"{rows[row]}.{columns[column]}"


__all__ = ["WeightChange", "split_name", "weight_change_pictures", "weight_changes"]
