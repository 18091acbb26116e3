"""Losses per example and the cost of them all, distances between distributions, penalties, heads by task."""

from collections.abc import Callable

import torch
from torch import Tensor

from cutaway.blocks.losses.cka import linear_cka
from cutaway.blocks.losses.contrastive import (
    info_nce,
    margin_loss,
    nt_xent,
    prototypes,
    prototypical_loss,
    retrieval_loss,
    squared_distances,
)
from cutaway.blocks.losses.distances import (
    cross_entropy,
    cross_entropy_from_logits,
    entropy,
    entropy_from_logits,
    kl_divergence,
    kl_from_logits,
    lp_distance,
    total_variation,
)
from cutaway.blocks.losses.linear_cross_entropy import linear_cross_entropy
from cutaway.blocks.losses.penalties import l1_penalty, l2_penalty
from cutaway.blocks.losses.pointwise import (
    absolute_loss,
    cost,
    cross_entropy_loss,
    hinge_loss,
    kl_loss,
    log_loss,
    multiclass_hinge_loss,
    power_loss,
    squared_loss,
    zero_one_loss,
)
from cutaway.blocks.losses.quantiles import (
    coverage,
    crps_from_quantiles,
    crps_from_samples,
    mase,
    quantile_loss,
    weighted_quantile_loss,
)
from cutaway.blocks.losses.restoration import cell_losses, scaled_cosine_error
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.losses.warping import time_warping_distance
from cutaway.registry import register


def _values() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3), torch.randn(2, 5, 3)


def _labels() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3), torch.randn(2, 5, 3) > 0


def _classes() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 7), torch.randint(7, (2, 5))


def _surely_wrong() -> tuple[Tensor, Tensor]:
    """Logits of ±1e4, for a target with zeros in it."""
    return 1e4 * torch.tensor([[1.0, -1.0, -1.0], [0.0, 0.0, 1.0]]), torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])


register(squared_loss, example=lambda: (squared_loss, *_values()))
register(absolute_loss, example=lambda: (absolute_loss, *_values()))
register(power_loss, example=lambda: (power_loss, *_values(), 2.5))
register(log_loss, example=lambda: (log_loss, torch.randn(2, 5, 3), torch.rand(2, 5, 3)))
register(cross_entropy_loss, example=lambda: (cross_entropy_loss, *_classes(), 0.1))
register(
    linear_cross_entropy,
    example=lambda: (linear_cross_entropy, torch.randn(2, 5, 3), torch.randn(7, 3), torch.randint(7, (2, 5))),
)
register(
    kl_loss,
    example=lambda: (kl_loss, torch.randn(2, 5, 3), torch.randn(2, 5, 3).softmax(-1)),
    extreme=lambda: (kl_loss, *_surely_wrong()),
)
register(hinge_loss, example=lambda: (hinge_loss, *_labels()))
register(multiclass_hinge_loss, example=lambda: (multiclass_hinge_loss, *_classes()))
register(
    zero_one_loss, example=lambda: (zero_one_loss, *_classes()), kinks="a step function: its slope is 0 or undefined"
)
register(cost, example=lambda: (cost, torch.rand(2, 5), "mean", torch.rand(2, 5)))


def _pair() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3).softmax(-1), torch.randn(2, 5, 3).softmax(-1)


def _pair_with_zeros() -> tuple[Tensor, Tensor]:
    """Zeros in p, in q, in both, and two that are equal."""
    p = torch.tensor([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    q = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    return p, q


def _logits_with_masks() -> tuple[Tensor, Tensor]:
    """The same in logits: −inf, and ±1e4."""
    p, q = _pair_with_zeros()
    return torch.cat((p.log(), 1e4 * p)), torch.cat((q.log(), -1e4 * q))


def _register(function: Callable[..., Tensor]) -> None:
    register(function, example=lambda: (function, *_pair()), extreme=lambda: (function, *_pair_with_zeros()))


def _register_for_logits(function: Callable[..., Tensor]) -> None:
    register(
        function,
        example=lambda: (function, torch.randn(2, 5, 3), torch.randn(2, 5, 3)),
        extreme=lambda: (function, *_logits_with_masks()),
    )


register(
    lp_distance, example=lambda: (lp_distance, *_pair(), 3.0), extreme=lambda: (lp_distance, *_pair_with_zeros(), 50.0)
)
_register(total_variation)
_register(kl_divergence)
_register(cross_entropy)
register(entropy, example=lambda: (entropy, _pair()[0]), extreme=lambda: (entropy, _pair_with_zeros()[0]))
_register_for_logits(kl_from_logits)
_register_for_logits(cross_entropy_from_logits)
register(
    entropy_from_logits,
    example=lambda: (entropy_from_logits, torch.randn(2, 5, 3)),
    extreme=lambda: (entropy_from_logits, _logits_with_masks()[0]),
)

register(l1_penalty, example=lambda: (l1_penalty, [torch.randn(3, 7), torch.randn(2, 5)]))
register(l2_penalty, example=lambda: (l2_penalty, [torch.randn(3, 7), torch.randn(2, 5)]))

register(Head, example=lambda: (Head(3, Task("multi-class", outputs=7)), torch.randn(2, 5, 3)))

register(time_warping_distance, example=lambda: (time_warping_distance, torch.randn(2, 5, 3), torch.randn(2, 7, 3), 4))


def _quantiles() -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(2, 5, 3).sort(-1).values, torch.randn(2, 5), torch.tensor([0.1, 0.5, 0.9])


register(quantile_loss, example=lambda: (quantile_loss, *_quantiles()))
register(weighted_quantile_loss, example=lambda: (weighted_quantile_loss, *_quantiles()))
register(crps_from_quantiles, example=lambda: (crps_from_quantiles, *_quantiles()))
register(crps_from_samples, example=lambda: (crps_from_samples, torch.randn(7, 2, 5), torch.randn(2, 5)))
register(mase, example=lambda: (mase, torch.randn(2, 5), torch.randn(2, 5), torch.randn(2, 11), 3))
register(
    coverage,
    example=lambda: (coverage, -torch.rand(2, 5), torch.rand(2, 5), torch.randn(2, 5)),
    kinks="a share of yes and no: its slope is 0",
)


def _vectors() -> tuple[Tensor, Tensor]:
    return torch.randn(5, 3), torch.randn(5, 3)


register(
    margin_loss,
    example=lambda: (margin_loss, *_vectors(), torch.arange(5) % 2 == 0, 3.0),
    kinks="pairs that are far enough apart are left alone",
)
register(linear_cka, example=lambda: (linear_cka, torch.randn(7, 3), torch.randn(7, 2)))
register(info_nce, example=lambda: (info_nce, *_vectors()))
register(retrieval_loss, example=lambda: (retrieval_loss, torch.randn(3, 4), torch.randn(5, 4)))
register(nt_xent, example=lambda: (nt_xent, *_vectors()))
register(prototypes, example=lambda: (prototypes, torch.randn(5, 3), torch.tensor([0, 1, 1, 2, 0]), 3))
register(
    prototypical_loss, example=lambda: (prototypical_loss, torch.randn(5, 3), torch.arange(5) % 2, torch.randn(2, 3))
)
register(squared_distances, example=lambda: (squared_distances, torch.randn(5, 3), torch.randn(7, 3)))

register(
    cell_losses,
    example=lambda: (cell_losses, torch.randn(3, 7), torch.tensor([[0, 4], [1, 0], [1, 2]]), (2, 5)),
    extreme=lambda: (cell_losses, 1e4 * torch.randn(3, 7), torch.tensor([[0, 4], [1, 0], [1, 2]]), (2, 5)),
)
register(
    scaled_cosine_error,
    example=lambda: (scaled_cosine_error, *_values()),
    extreme=lambda: (scaled_cosine_error, *(1e4 * x for x in _values())),
)
