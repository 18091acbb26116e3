r"""Which pixels a class depends on: by slopes at the input, and by the feature maps of a layer.

    saliency    s_p = max_c |∂y_k / ∂x_{c,p}|                       how fast the logit of class k changes with pixel p
    Grad-CAM    a_c = mean_p ∂y_k / ∂A_{c,p}                        how much map c speaks for class k
                L_p = max(0, Σ_c a_c A_{c,p})                       where the maps speak for it

x are the pixels, A the feature maps of a layer, y_k the logit of class k. Saliency has the size of the image and is
fine but noisy; Grad-CAM has that of the maps. Simonyan et al. 2014; Selvaraju et al. 2017, eq. 1–2. Notes: N3 §6.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace


def class_saliency(
    model: nn.Module, images: Float[Tensor, "b c h w"], classes: Int[Tensor, "b"]
) -> Float[Tensor, "b h w"]:
    """s_p = max_c |∂y_k / ∂x_{c,p}| of each image, for its class k."""
    _expect_classes(images, classes)
    with torch.enable_grad():
        x = images.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(_logits(model, x, classes).sum(), x)
    return slope.abs().amax(1)


def grad_cam(
    model: nn.Module, images: Float[Tensor, "b c h w"], classes: Int[Tensor, "b"], at: str
) -> Float[Tensor, "b n m"]:
    """L_p = max(0, Σ_c a_c A_{c,p}) with a_c = mean_p ∂y_k / ∂A_{c,p}, of the maps A at an address."""
    _expect_classes(images, classes)
    with torch.enable_grad():
        x = images.detach().clone().requires_grad_()
        with trace(model, at) as seen:
            y = _logits(model, x, classes)
        maps = next(tensors(seen.calls[next(iter(seen))][0]))
        if maps.ndim != 4:
            raise ValueError(
                f"Grad-CAM needs feature maps (batch, channels, height, width), got shape {tuple(maps.shape)} at "
                f"{at!r}; name a convolution"
            )
        (slope,) = torch.autograd.grad(y.sum(), maps)
    weights = slope.mean((2, 3), keepdim=True)
    return (weights * maps.detach()).sum(1).relu()


def _logits(model: nn.Module, x: Tensor, classes: Tensor) -> Tensor:
    logits = next(tensors(model(x)))
    return logits.gather(1, classes.to(logits.device)[:, None])


def _expect_classes(images: Tensor, classes: Tensor) -> None:
    if images.ndim != 4 or classes.shape != images.shape[:1]:
        raise ValueError(
            f"there must be a class for each image (batch, channels, height, width), got classes of shape "
            f"{tuple(classes.shape)} for images of shape {tuple(images.shape)}; give one for each"
        )


__all__ = ["class_saliency", "grad_cam"]
