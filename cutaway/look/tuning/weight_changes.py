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
    for name, new in after.items():
        old = before.get(name)
        if old is None or old.shape != new.shape or new.ndim < 2 or not new.is_floating_point():
            continue
        w = old.detach().double().cpu().flatten(1)
        update = new.detach().double().cpu().flatten(1) - w
        length = float(w.norm())
        small = max(update.shape) <= _LARGEST
        rank = float(effective_rank(update.float())) if small else float("nan")
        relative = float(update.norm()) / length if length else float("nan")
        if relative < _ROUNDING * torch.finfo(new.dtype).eps:  # as when DoRA is put into the weights
            relative = rank = 0.0
        found.append(WeightChange(name, *split_name(name), relative, rank, min(update.shape)))
    return found


def split_name(name: str) -> tuple[str, str]:
    """The layer and the part of a tensor's name.

    >>> split_name("blocks.3.mlp.up.weight"), split_name("stages.0.1.conv.weight"), split_name("embed.weight")
    (('blocks.3', 'mlp.up'), ('stages.0.1', 'conv'), ('', 'embed'))
    """
    plain = name.removesuffix(".weight")
    match = re.match(r"((?:\w+\.)?\w+?(?:\.\d+)+)\.(.+)$", plain)
    return (match[1], match[2]) if match else ("", plain)


def weight_change_pictures(changes: list[WeightChange], allowed: int = 0) -> list[Picture]:
    """How far the matrices of each layer moved, and in how many directions: layers × parts.

    ``allowed`` is the rank of the LoRA that made the updates, if one did.
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
        used = f"Updates use {np.nanmin(ranks):.0f} to {np.nanmax(ranks):.0f}"
        most = max(change.most for change in inside)
        told = f"{used} of up to {most} directions: the fewer, the lower the rank of a LoRA that could hold them."
        if allowed:
            told = f"{used} of the {allowed} directions that LoRA of rank {allowed} has."
        pictures.append(
            heatmap(
                ranks,
                layers,
                short_names(parts),
                title="In how many directions: effective rank of ΔW",
                value="effective rank",
                axes=("layer", "part"),
            ).captioned(told)
        )
    return pictures


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
