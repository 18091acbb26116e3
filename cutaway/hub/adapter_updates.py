r"""Updates cut as a file has its matrices: of a part from that of the whole, of the whole from those of its parts.

x A [B_1 B_2 B_3] = [x A B_1, x A B_2, x A B_3]             a whole, split: each part has the same A
[x A_1 B_1, 0, x A_3 B_3] = x [A_1 A_3] [B_1 0 0; 0 0 B_3]  parts, joined: ranks add up
"""

import torch
from torch import Tensor, nn

from cutaway.blocks.low_rank.dora import DoRA, column_lengths
from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.blocks.low_rank.lora import WHOLE, LoRA
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.hub.adapter_names import Place


def narrowed(a: Tensor, b: Tensor, alpha: float, rooted: bool) -> tuple[Tensor, Tensor, float]:
    """Factors (r, i) and (o, r) whose rank is at most that of a matrix i → o, and their α: peft allows any rank.

    Of a larger rank, the product itself is one factor and the identity the other: the same update at the same scale.
    """
    rank, (o, i) = len(a), (b.shape[0], a.shape[1])
    if rank <= min(i, o):
        return a, b, alpha
    whole, one = (b.double() @ a.double()).to(a), torch.eye(min(i, o)).to(a)
    alpha *= (min(i, o) / rank) ** (0.5 if rooted else 1)
    return (whole, one, alpha) if o <= i else (one, whole, alpha)


def split_update(updates: dict[str, LowRank], place: Place) -> LowRank | None:
    """The update of one part: its own, or its columns of the whole's; None if it has none."""
    if place.part in updates or WHOLE not in updates:
        return updates.get(place.part)
    whole = updates[WHOLE]
    part = _like(whole, whole.inputs, whole.b[:, place.columns].shape[1], whole.rank, whole.alpha)
    with torch.no_grad():
        part.a.copy_(whole.a)
        part.b.copy_(whole.b[:, place.columns])
        if isinstance(whole, DoRA) and isinstance(part, DoRA):
            part.magnitude.copy_(whole.magnitude[place.columns])
    return part


@torch.no_grad()
def joined_update(layer: LoRA, updates: dict[str, LowRank]) -> LowRank:
    """The update of a whole matrix: its own, or one whose rank is the sum of those of its parts."""
    if WHOLE in updates:
        return updates[WHOLE]
    some = next(iter(updates.values()))
    rank = sum(update.rank for update in updates.values())
    whole = _like(some, layer.inputs, layer.outputs, rank, 1.0)
    whole.alpha = some.scale / whole.scale  # the same scale for all of them
    whole.a.copy_(torch.cat([update.a for update in updates.values()], -1))
    whole.b.zero_()
    if isinstance(whole, DoRA):
        whole.magnitude.copy_(column_lengths(matrix_of(layer.base).to(whole.a.dtype)))
    row = 0
    for part, update in updates.items():
        columns = slice(*layer.columns[part])
        whole.b[row : row + update.rank, columns] = update.b * (update.scale / whole.scale)
        row += update.rank
        if isinstance(whole, DoRA) and isinstance(update, DoRA):
            whole.magnitude[columns] = update.magnitude
    return whole


def update_like(update: LowRank, rank: int, alpha: float) -> LowRank:
    """A new update of the same layer with another rank."""
    return _like(update, update.inputs, update.outputs, rank, alpha)


def _like(update: LowRank, inputs: int, outputs: int, rank: int, alpha: float) -> LowRank:
    """A new update of other sizes; its rank may be above what is useful, as a sum of ranks may be."""
    made = type(update).__new__(type(update))
    LowRank.__init__(made, inputs, outputs, 1, alpha, update.dropout, update.rooted)
    made.rank = rank
    made.a, made.b = nn.Parameter(torch.empty(inputs, rank)), nn.Parameter(torch.empty(rank, outputs))
    if isinstance(made, DoRA):
        made.magnitude = nn.Parameter(torch.empty(outputs))
    return made.to(update.a)
