"""Log densities of a number to come, by the parameters of its distribution."""

import torch
from torch import Tensor

from cutaway.blocks.likelihoods.gaussian import gaussian_log_density
from cutaway.blocks.likelihoods.negative_binomial import negative_binomial_log_density
from cutaway.blocks.likelihoods.student_t import student_t_log_density
from cutaway.registry import register


def _positive() -> Tensor:
    return torch.rand(2, 5) + 0.5


def _far() -> tuple[Tensor, Tensor, Tensor]:
    """A value ten thousand scales away, and a scale near 0."""
    return torch.tensor([1e4, 0.0]), torch.zeros(2), torch.tensor([1.0, 1e-6])


register(
    gaussian_log_density,
    example=lambda: (gaussian_log_density, torch.randn(2, 5), torch.randn(2, 5), _positive()),
    extreme=lambda: (gaussian_log_density, *_far()),
)
register(
    student_t_log_density,
    example=lambda: (student_t_log_density, torch.randn(2, 5), torch.randn(2, 5), _positive(), 2 + _positive()),
    extreme=lambda: (student_t_log_density, *_far(), torch.tensor([2.0, 1e6])),
)
register(
    negative_binomial_log_density,
    example=lambda: (negative_binomial_log_density, torch.rand(2, 5) * 7, _positive(), _positive()),
    extreme=lambda: (
        negative_binomial_log_density,
        torch.tensor([0.0, 1e5]),
        torch.tensor([0.0, 1e5]),
        torch.tensor([0.0, 1e4]),
    ),
)
