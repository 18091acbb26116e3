r"""Hidden patches: what a masked autoencoder sees of an image, and what it must fill in.

    v = the places of the (1 − m) n smallest of n random numbers        visible: each place equally often
    x_v = x[v]                                                          all that the encoder is given
    y = z at the places v, the same learned vector at all others        what the decoder is given

    ℓ = mean over hidden patches p of ‖ŷ_p − t_p‖² / pixels             t_p: the pixels of p, or (p − mean p) / spread p

He et al. 2022 (MAE), §3. Notes: N3 §8.4.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_same_shape
from cutaway.blocks.embeddings.patches import cut_patches

_SPREAD = 1e-6  # is added to a patch's variance: a patch of one colour has none


def choose_visible(
    images: int, patches: int, hidden: float, generator: torch.Generator | None = None, device: object = None
) -> Int[Tensor, "b v"]:
    """The places that stay visible in each image, in order; at least one is visible and one is hidden.

    >>> choose_visible(2, 16, 0.75).shape
    torch.Size([2, 4])
    """
    if patches < 2:
        raise ValueError(f"an image needs two patches or more to hide some, got {patches}; use smaller patches")
    if not 0 < hidden < 1:
        raise ValueError(f"hidden must be above 0 and below 1, got {hidden}; try hidden=0.75")
    count = min(patches - 1, max(1, round((1 - hidden) * patches)))
    noise = torch.rand(images, patches, generator=generator)
    return noise.argsort(1)[:, :count].sort(1).values.to(device)  # type: ignore[call-overload]


def hidden_places(visible: Int[Tensor, "b v"], patches: int) -> Bool[Tensor, "b p"]:
    """True at the places that are not visible.

    >>> hidden_places(torch.tensor([[0, 2]]), 4)
    tensor([[False,  True, False,  True]])
    """
    return torch.ones(len(visible), patches, dtype=torch.bool, device=visible.device).scatter(1, visible, False)


def take_places(x: Float[Tensor, "b p w"], places: Int[Tensor, "b v"]) -> Float[Tensor, "b v w"]:
    """x[v], for each row its own places."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))


def put_places(
    z: Float[Tensor, "b v w"], places: Int[Tensor, "b v"], other: Float[Tensor, "w"], patches: int
) -> Float[Tensor, "b p w"]:
    """z at its places, the vector ``other`` at the rest."""
    y = other.to(z.dtype).expand(len(z), patches, -1)
    return y.scatter(1, places[:, :, None].expand(-1, -1, z.shape[2]), z)


def patch_targets(images: Float[Tensor, "b c H W"], side: int, standardise: bool = False) -> Float[Tensor, "b p n"]:
    """What is to be filled in: the pixels of each patch, brought to mean 0 and spread 1 patch by patch if asked for."""
    pixels = cut_patches(images, side)
    if not standardise:
        return pixels
    mean, variance = pixels.mean(-1, keepdim=True), pixels.var(-1, keepdim=True, correction=0)
    return (pixels - mean) / (variance + _SPREAD).sqrt()


def hidden_error(
    filled: Float[Tensor, "b p n"], targets: Float[Tensor, "b p n"], hidden: Bool[Tensor, "b p"]
) -> Float[Tensor, "b"]:
    """The squared error a pixel of each image, over its hidden patches alone.

    >>> filled, targets = torch.zeros(1, 2, 4), torch.tensor([[[9.0] * 4, [2.0] * 4]])
    >>> hidden_error(filled, targets, torch.tensor([[False, True]]))
    tensor([4.])
    """
    expect_same_shape("filled", filled, "targets", targets)
    errors = (filled - targets).square().mean(-1)
    return (errors * hidden).sum(1) / hidden.sum(1)


__all__ = ["choose_visible", "hidden_error", "hidden_places", "patch_targets", "put_places", "take_places"]
