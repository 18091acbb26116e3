"""Networks that read or draw images, as small as they come."""

from functools import partial
from typing import Any

import torch

from cutaway.catalogue.generative import stirred
from cutaway.models import (
    CNN,
    VAE,
    Autoencoder,
    CNNSpec,
    CodeClassifier,
    ContrastiveEncoder,
    Diffusion,
    ViTSpec,
)
from cutaway.models.siamese import Siamese
from cutaway.registry import register

_HEADLESS = ViTSpec.vit(image=6, patch=3, channels=2, width=6, depth=1, heads=3)


def cnn(design: str) -> tuple[Any, ...]:
    """A network and its images; gains of residual branches are no longer at their start, where they are 0."""
    model = CNN(classes=5, channels=2, design=design, width=6, squares=2, activation="silu")
    for name, parameter in model.named_parameters():
        if name.endswith("second.norm.weight"):
            torch.nn.init.ones_(parameter)
    return model, torch.rand(3, 2, 9, 8)


for design in ("plain", "residual", "separable"):
    register(
        CNN,
        name=f"CNN ({design})",
        example=partial(cnn, design),
        kinks="ReLU and the maximum bend",
    )
register(
    CodeClassifier,
    example=lambda: (CodeClassifier(image=(4, 4), channels=2, width=6, codes=3, classes=5), torch.rand(2, 2, 4, 4)),
)
register(
    ContrastiveEncoder,
    name="ContrastiveEncoder (vit)",
    example=lambda: (ContrastiveEncoder(vit=_HEADLESS, hidden=7, projected=5), torch.randn(2, 2, 6, 6)),
)
register(
    ContrastiveEncoder,
    name="ContrastiveEncoder (cnn)",
    example=lambda: (
        ContrastiveEncoder(
            cnn=CNNSpec(classes=0, channels=2, width=6, activation="silu", norm="none"), hidden=7, projected=5
        ),
        torch.randn(2, 2, 8, 8),
    ),
    kinks="max pooling and ReLU",
)
register(
    Siamese,
    example=lambda: (
        Siamese(image=(8, 8), width=3, stages=2, depth=1, embedding=5),
        torch.rand(3, 1, 8, 8),
    ),
    kinks="ReLU and the maximum bend",
)


def images(channels: int = 1) -> torch.Tensor:
    return torch.rand(2, channels, 6, 5)


CODER: dict[str, Any] = dict(image=(6, 5), width=4, depth=1)


def autoencoding(design: str) -> tuple[Any, ...]:
    return stirred(Autoencoder(**CODER, codes=3, design=design)), images()


for design in ("linear", "dense", "conv"):
    register(
        Autoencoder,
        name=f"Autoencoder ({design})",
        example=partial(autoencoding, design),
    )
register(
    Autoencoder,
    name="Autoencoder (binary)",
    example=lambda: (stirred(Autoencoder(**CODER, codes=40, code="binary")), images()),
    kinks="a step, which goes backward as a line",
)
register(VAE, example=lambda: (stirred(VAE(**CODER, latents=3)), images()))
register(
    VAE,
    name="VAE (convolutional, one scale for all)",
    example=lambda: (stirred(VAE(**CODER | dict(channels=3), latents=3, design="conv", shared_scale=True)), images(3)),
)
register(
    Diffusion,
    example=lambda: (
        stirred(Diffusion(image=(6, 5), classes=3, width=4, condition=4)),
        images(),
        torch.tensor([0.2, 0.9]),
        torch.tensor([0, 3]),
    ),
)
register(
    Diffusion,
    name="Diffusion (without classes)",
    example=lambda: (
        stirred(Diffusion(image=(6, 5), channels=3, width=4, depth=2, stages=1, shuffle=1, condition=4)),
        images(3),
        torch.tensor([0.2, 0.9]),
    ),
)
