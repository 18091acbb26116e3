r"""The Square attack: a search without gradients that paints squares of ±ε and keeps those that help.

    start   δ = vertical stripes of ±ε, one pixel wide
    step i  in one square of p_i·H·W pixels at a random place: δ = ±ε, one sign a channel; p_i falls as i grows
            kept where the margin  log p_y − max_{c≠y} log p_c  falls

It sees only the outputs, so a model that merely hides its gradients does not resist it: where it beats PGD, PGD's
figure is too good to be true.

Andriushchenko et al. 2020 (L∞ version; their schedule of p, stretched to the number of steps).
"""

import torch
from jaxtyping import Int
from torch import Tensor

from cutaway.training.attacks.balls import Ball, Images
from cutaway.training.attacks.gradient_steps import Classifier
from cutaway.training.attacks.margins import margin

_SHARE = 0.8  # of the image, the first squares
_HALVINGS = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # steps of 10,000 at which p halves


@torch.no_grad()
def square_attack(
    model: Classifier,
    images: Images,
    labels: Int[Tensor, "b"],
    ball: Ball,
    steps: int,
    generator: torch.Generator | None = None,
) -> Images:
    """The images after ``steps`` squares; an image whose class has changed is left as it is."""
    if ball.norm != "inf" or images.ndim != 4:
        raise ValueError(
            f'the square attack works on images (b, c, h, w) with norm="inf", got shape {tuple(images.shape)} with '
            f'norm="{ball.norm}"; use kind="pgd"'
        )
    b, c, h, w = images.shape
    stripes = _signs(images, (b, c, 1, w), generator)
    x = ball.project(images + ball.epsilon * stripes, images)
    best = margin(model(x), labels)
    for i in range(steps):
        active = (best >= 0).nonzero()[:, 0]
        # draws are made for all images, so that one image's fate changes nothing for the others
        side = max(1, min(h, w, round((square_share(i, steps) * h * w) ** 0.5)))
        top = torch.randint(h - side + 1, (b, 1), generator=generator, device=images.device)[active]
        left = torch.randint(w - side + 1, (b, 1), generator=generator, device=images.device)[active]
        signs = _signs(images, (b, c, 1, 1), generator)[active]
        if not len(active):
            break
        rows, columns = (torch.arange(n, device=images.device) for n in (h, w))
        inside = ((rows >= top) & (rows < top + side))[:, None, :, None]
        inside = inside & ((columns >= left) & (columns < left + side))[:, None, None, :]
        old = images[active]
        new = ball.project(torch.where(inside, old + ball.epsilon * signs, x[active]), old)
        found = margin(model(new), labels[active])
        better = found < best[active]
        chosen = active[better]
        x[chosen], best[chosen] = new[better], found[better]
    return x


def square_share(i: int, steps: int) -> float:
    """p_i: the share of the image that square ``i`` of ``steps`` covers.

    >>> square_share(0, 10_000), square_share(5_000, 10_000)
    (0.8, 0.00625)
    """
    scaled = i / steps * 10_000
    return _SHARE / 2 ** sum(scaled > at for at in _HALVINGS)


def _signs(like: Tensor, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    return torch.randint(2, shape, generator=generator, device=like.device).to(like.dtype) * 2 - 1


__all__ = ["square_attack", "square_share"]
