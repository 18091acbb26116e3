r"""Codes of training images: where they lie, and new codes near them.

z_k + s ⊙ ε           near the code of a training image k, s a share of the spread of all codes
m_c + L_c ε           from the Gaussian of the codes of a class c: their mean, and a root of their covariance
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.tasks.images.pixels import as_pixels, evenly_spread

_MOST = 10_000  # training images that are encoded


class CodedImages(NamedTuple):
    """Codes of images, and their classes (−1: unknown)."""

    codes: Float[Tensor, "n z"]
    targets: Int[np.ndarray, "n"]

    @classmethod
    def of(cls, model: Any, images: Any, most: int = _MOST) -> "CodedImages":
        """The codes of some images: all, or evenly spread ones."""
        some = evenly_spread(images, most)
        with torch.no_grad():
            parts = [
                model.encode(as_pixels(model, some.pixels(slice(first, first + 500)))).cpu()
                for first in range(0, len(some), 500)
            ]
        return cls(torch.cat(parts), some.targets)

    def scattered(
        self,
        model: Any,
        count: int,
        classes: Int[np.ndarray, "m"] | None,
        generator: torch.Generator,
        scatter: float,
        bits: bool,
    ) -> Float[Tensor, "m c h w"]:
        """Images of codes near those of training images."""
        u = torch.rand(count, generator=generator)
        rows = []
        for i in range(count):
            among = np.arange(len(self.targets)) if classes is None else np.flatnonzero(self.targets == classes[i])
            rows.append(int(among[int(u[i] * len(among))]))
        z = self.codes[rows]
        if bits:
            z = torch.where(torch.rand(z.shape, generator=generator) < scatter, 1 - z, z)
        else:
            z = z + scatter * self.codes.std(0, correction=0) * torch.randn(z.shape, generator=generator)
        return model.decode(z.to(model.device)).clamp(0, 1)

    def of_classes(self, classes: Int[np.ndarray, "m"], generator: torch.Generator) -> Float[Tensor, "m z"]:
        """Codes drawn from the Gaussian of the codes of each class; ε is drawn first, for all alike."""
        noise = torch.randn(len(classes), self.codes.shape[1], generator=generator)
        found = torch.empty_like(noise)
        for one in np.unique(classes):
            own = self.codes[torch.from_numpy(self.targets == one)].double()
            mean = own.mean(0)
            spread = (own - mean).T @ (own - mean) / max(len(own) - 1, 1)
            values, vectors = torch.linalg.eigh(spread)
            root = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
            here = torch.from_numpy(classes == one)
            found[here] = (mean + noise[here].double() @ root).float()
        return found
