"""Latent codes, noise schedules, targets and steps of denoising, guidance, the Fréchet distance."""

import torch
from torch import Tensor, nn

from cutaway.blocks.generative.binary_codes import BinaryCode, binary_code
from cutaway.blocks.generative.conditioned_residual import ConditionedResidual
from cutaway.blocks.generative.frechet import frechet_distance, gaussian_frechet
from cutaway.blocks.generative.guidance import guide
from cutaway.blocks.generative.latents import GaussianLatent, kl_to_standard_normal, reparameterise
from cutaway.blocks.generative.mean_discrepancy import earth_movers_distances, histogram_mmd
from cutaway.blocks.generative.noise_schedules import (
    cosine_betas,
    from_betas,
    linear_betas,
    noise_schedule,
    straight_path,
)
from cutaway.blocks.generative.samplers import Level, ddim_step, ddpm_step, euler_step
from cutaway.blocks.generative.targets import convert_prediction, denoise, denoising_target, squared_error_weight
from cutaway.blocks.generative.time_embedding import TimeEmbedding
from cutaway.registry import register


def _codes() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 5), torch.randn(3, 5)


def _images() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 7)


def _spread() -> Tensor:
    """A covariance."""
    x = torch.randn(11, 5)
    return x.T @ x / 11


def _far() -> tuple[Tensor, Tensor]:
    """Means ten thousand away, at the widest and the narrowest spread that the block lets through."""
    return torch.full((2, 5), 1e4), torch.tensor([10.0, -10.0])[:, None].expand(2, 5)


register(
    reparameterise,
    example=lambda: (reparameterise, *_codes(), torch.randn(3, 5)),
    extreme=lambda: (reparameterise, *_far(), torch.ones(2, 5)),
)
register(
    kl_to_standard_normal,
    example=lambda: (kl_to_standard_normal, *_codes()),
    extreme=lambda: (kl_to_standard_normal, *_far()),
)
register(GaussianLatent, example=lambda: (GaussianLatent(7, 5), torch.randn(3, 7)))
register(
    GaussianLatent,
    name="GaussianLatent (one scale for all)",
    example=lambda: (GaussianLatent(7, 5, shared_scale=True), torch.randn(3, 7)),
)
register(binary_code, example=lambda: (binary_code, torch.randn(3, 5)), kinks="a step, which goes backward as a line")
register(
    BinaryCode, example=lambda: (BinaryCode(7, 5), torch.randn(3, 7)), kinks="a step, which goes backward as a line"
)
register(linear_betas, example=lambda: (linear_betas, 10))
register(cosine_betas, example=lambda: (cosine_betas, 10))
register(
    from_betas,
    example=lambda: (from_betas, torch.rand(10) * 0.3),
    extreme=lambda: (from_betas, torch.tensor([0.999, 0.5, 1e-4])),
)
register(straight_path, example=lambda: (straight_path, 10))
register(noise_schedule, example=lambda: (noise_schedule, "cosine", 10))
register(denoising_target, example=lambda: (denoising_target, "velocity", *_images(), 0.8, 0.6))
register(denoise, example=lambda: (denoise, "flow", *_images(), 0.75, 0.25))
register(
    convert_prediction, example=lambda: (convert_prediction, _images()[0], "noise", "flow", _images()[1], 0.8, 0.6)
)
register(
    squared_error_weight,
    example=lambda: (squared_error_weight, "velocity", torch.rand(5) + 0.1, torch.rand(5) + 0.1),
    extreme=lambda: (squared_error_weight, "velocity", torch.ones(2), torch.tensor([1e-4, 1.0])),
)
register(
    ddpm_step,
    example=lambda: (ddpm_step, *_images(), Level(0.6, 0.8), Level(0.8, 0.6), torch.randn(3, 2, 5, 7)),
)
register(ddim_step, example=lambda: (ddim_step, *_images(), Level(0.8, 0.6)))
register(euler_step, example=lambda: (euler_step, *_images(), Level(0.25, 0.75), Level(0.5, 0.5)))
register(guide, example=lambda: (guide, *_images(), 1.5))


def stirred(block: nn.Module) -> nn.Module:
    """A block whose weights are no longer at their start, where some are 0 and pass nothing on."""
    for parameter in block.parameters():
        nn.init.normal_(parameter, 0, 0.3)
    return block


register(
    ConditionedResidual,
    example=lambda: (stirred(ConditionedResidual(4, 6, condition=3)), torch.randn(2, 4, 5, 7), torch.randn(2, 3)),
)
register(TimeEmbedding, example=lambda: (TimeEmbedding(6, 4), torch.rand(3)))
register(
    gaussian_frechet,
    example=lambda: (gaussian_frechet, torch.randn(5), _spread(), torch.randn(5), _spread()),
    extreme=lambda: (gaussian_frechet, torch.randn(5) * 1e4, _spread() * 1e8, torch.randn(5), _spread()),
)
register(
    frechet_distance,
    example=lambda: (frechet_distance, torch.randn(11, 3), torch.randn(13, 3)),
    extreme=lambda: (frechet_distance, torch.randn(11, 3) * 1e4, torch.randn(13, 3)),
)
register(
    earth_movers_distances,
    example=lambda: (earth_movers_distances, torch.rand(3, 5).softmax(-1), torch.rand(2, 5).softmax(-1)),
    kinks="the distance of two running sums bends where they cross",
)
register(
    histogram_mmd,
    example=lambda: (histogram_mmd, torch.randn(3, 5).softmax(-1), torch.randn(2, 5).softmax(-1)),
    kinks="the distance of two running sums bends where they cross",
)
