r"""Losses of what was hidden and is to be restored.

    cells        ℓ_j = −log softmax(s_j)_{y_j}                      of column j, with scores s_j of its own
    vertices     ℓ_v = (1 − cos(x_v, x̂_v))^γ                        scaled cosine error, γ ≥ 1
    mean over what was hidden: Σ m ℓ / Σ m

The scaled cosine error asks for the direction of a feature vector, not its length, and γ > 1 makes little of what is
restored well already: Hou et al. 2022 (GraphMAE), eq. 3. Cells as classes: Devlin et al. 2019 for words.
Notes: N3 §5.8, §8.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_width


def cell_losses(
    scores: Float[Tensor, "b o"], targets: Int[Tensor, "b c"], outcomes: Sequence[int]
) -> Float[Tensor, "b c"]:
    r"""−log softmax(s_j)_{y_j} for every cell; the scores of the columns stand one after another.

    ``outcomes`` counts the scores of each column.

    >>> cell_losses(torch.zeros(1, 6), torch.tensor([[1, 3]]), (2, 4)).exp()  # 1 of 2, 1 of 4
    tensor([[2., 4.]])
    """
    expect_width("scores", scores, sum(outcomes))
    expect_width("targets", targets, len(outcomes))
    parts = scores.split(list(outcomes), -1)
    found = [nn.functional.cross_entropy(s, targets[:, j], reduction="none") for j, s in enumerate(parts)]
    return torch.stack(found, 1)


def scaled_cosine_error(
    x: Float[Tensor, "*b w"], restored: Float[Tensor, "*b w"], power: float = 2.0
) -> Float[Tensor, "*b"]:
    r"""(1 − cos(x, x̂))^γ: 0 for one direction, 1 for right angles, 2^γ for opposite ones.

    >>> scaled_cosine_error(torch.tensor([3.0, 0.0]), torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]))
    tensor([0., 1., 4.])
    """
    if power < 1:
        raise ValueError(f"power must be 1 or above, got {power}; try power=2")
    return (1 - nn.functional.cosine_similarity(x, restored, dim=-1)).clamp(min=0) ** power


def mean_where(losses: Float[Tensor, "*s"], chosen: Bool[Tensor, "*s"]) -> Float[Tensor, ""]:
    """Σ m ℓ / Σ m: the mean of the losses where ``chosen``; 0 if nothing is.

    >>> mean_where(torch.tensor([1.0, 5.0, 3.0]), torch.tensor([True, False, True]))
    tensor(2.)
    """
    return torch.where(chosen, losses, 0).sum() / chosen.sum().clamp(min=1)


__all__ = ["cell_losses", "mean_where", "scaled_cosine_error"]
