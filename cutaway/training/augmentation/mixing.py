r"""Mixing images of a batch, and their classes in the same shares: the model learns to be half sure of a half.

    mixup      y = λ x + (1 − λ) x',      λ ~ Beta(a, a),  one for each image
    cutmix     y = x but for a rectangle of x',            λ: the share of x that is left

    target = λ onehot(class of x) + (1 − λ) onehot(class of x')

x' is another image of the batch. Zhang et al. 2018 (mixup); Yun et al. 2019 (cutmix). Notes: N3 §8.1.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Images = Float[Tensor, "b c h w"]


def mixup(
    x: Images, y: Int[Tensor, "b"] | Float[Tensor, "b k"], classes: int, strength: float = 0.2
) -> tuple[Images, Float[Tensor, "b k"]]:
    """Weighted means of two images, and of their classes."""
    _expect_strength(strength)
    p, others = _shares(y, classes, x), torch.randperm(len(x), device=x.device)
    λ = torch.distributions.Beta(strength, strength).sample((len(x),)).to(x)
    λ = torch.maximum(λ, 1 - λ)  # the first of the two is the stronger one
    mixed = torch.lerp(x[others], x, λ[:, None, None, None])
    return mixed, torch.lerp(p[others], p, λ[:, None])


def cutmix(
    x: Images, y: Int[Tensor, "b"] | Float[Tensor, "b k"], classes: int, strength: float = 1.0
) -> tuple[Images, Float[Tensor, "b k"]]:
    """A rectangle of another image in each, and the classes by area."""
    _expect_strength(strength)
    b, _, h, w = x.shape
    p, others = _shares(y, classes, x), torch.randperm(b, device=x.device)
    λ = torch.distributions.Beta(strength, strength).sample((b,)).to(x)
    half = (1 - λ).sqrt() / 2
    middle = torch.rand(2, b, device=x.device).to(x)
    rows, columns = ((torch.arange(n, device=x.device) + 0.5).to(x) / n for n in (h, w))
    tall = (rows - middle[0, :, None]).abs() < half[:, None]
    wide = (columns - middle[1, :, None]).abs() < half[:, None]
    inside = (tall[:, :, None] & wide[:, None, :])[:, None]
    left = 1 - inside.to(x).mean((1, 2, 3))  # what the rectangle really left: it may lie over an edge
    return torch.where(inside, x[others], x), torch.lerp(p[others], p, left[:, None])


def _shares(y: Tensor, classes: int, x: Tensor) -> Tensor:
    """Classes as shares (b, classes), which mixed ones are already."""
    return (nn.functional.one_hot(y, classes) if y.ndim == 1 else y).to(x)


def _expect_strength(strength: float) -> None:
    if not strength > 0:
        raise ValueError(f"strength must be above 0, got {strength}; small ones mix little")


__all__ = ["cutmix", "mixup"]
