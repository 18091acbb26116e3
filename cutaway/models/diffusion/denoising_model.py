r"""`Diffusion` learns to tell image from noise at every level of noise, and makes images by taking noise away in steps.

    training    x_t = α_t x₀ + σ_t ε,   loss = ‖net(x_t, t, class) − y‖²         y = a x₀ + b ε, the target
    sampling    x_T = ε;   x_s = step(x_t, net(x_t, t, class))                    from noise to image, level by level

Schedules, targets and steps are those of blocks/generative. With schedule "straight", target "flow" and Euler's steps
it is flow matching (Lipman et al. 2023); with "linear" or "cosine", "noise" and DDPM's steps, denoising diffusion (Ho,
Jain, Abbeel 2020). Classes are dropped for a share of the training images, so that one network predicts with and
without one, which guidance needs (Ho, Salimans 2021).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_even, expect_positive
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.generative.guidance import guide
from cutaway.blocks.generative.noise_schedules import SCHEDULES, NoiseSchedule, noise_schedule
from cutaway.blocks.generative.samplers import SAMPLERS, Level, ddim_step, ddpm_step, euler_step
from cutaway.blocks.generative.targets import TARGETS, Denoised, denoise, denoising_target
from cutaway.blocks.generative.time_embedding import TimeEmbedding
from cutaway.models.autoencoders.image_coders import expect_images
from cutaway.models.base import Model, choose_spec
from cutaway.models.diffusion.unet import UNet
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class DiffusionSpec(NamedSpec):
    """The images (``image`` is height and width), the U-Net, and what it learns to predict."""

    model: ClassVar[str] = "Diffusion"

    image: tuple[int, int]
    channels: int = 1
    classes: int = 0  # 0: without classes
    width: int = 32  # channels of the first stage
    depth: int = 1  # residual blocks of a stage
    stages: int = 2
    shuffle: int = 2  # side of the squares of pixels that become channels
    condition: int = 128  # width of the vector that tells level and class
    schedule: str = "straight"  # linear | cosine | straight
    target: str = "flow"  # noise | image | velocity | flow
    levels: int = 1000

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("schedule", self.schedule, SCHEDULES)
        expect_choice("target", self.target, TARGETS)
        expect_positive(height=self.image[0], width_of_image=self.image[1], channels=self.channels, width=self.width)
        expect_positive(depth=self.depth, stages=self.stages, shuffle=self.shuffle, condition=self.condition)
        expect_positive(levels=self.levels)
        if self.classes < 0:
            raise ValueError(f"classes must be 0 or above, got {self.classes}; 0 is without classes")
        expect_even(condition=self.condition)
        if (self.schedule, self.target) == ("straight", "noise"):
            raise ValueError(
                "the straight schedule ends in noise alone, from which no image follows, got target='noise'; "
                "use target='flow' or 'velocity', or schedule='cosine'"
            )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class Denoising(NamedTuple):
    """A stop of the way from noise to image: the level, x_t there, and the image that the network sees in it."""

    level: int
    x: Float[Tensor, "b c h w"]
    image: Float[Tensor, "b c h w"]


class Diffusion(Model):
    """``model(x_t, time, labels)`` predicts the target; ``sample`` makes images.

    Images come and go with pixels from 0 to 1 (`sample`, `loss`); inside, x runs from −1 to 1. ``time`` is t/T, from 0
    (image) to 1 (noise). ``labels`` are classes, with the number of classes itself for "no class".
    """

    kind: ClassVar[type[NamedSpec]] = DiffusionSpec
    spec: DiffusionSpec

    def __init__(self, spec: DiffusionSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, DiffusionSpec))
        spec = self.spec
        self.time = TimeEmbedding(spec.condition)
        self.labels = Embedding(spec.classes + 1, spec.condition) if spec.classes else None
        self.net = UNet(spec.channels, spec.width, spec.depth, spec.stages, spec.shuffle, spec.condition)
        self._schedule: NoiseSchedule | None = None

    @property
    def schedule(self) -> NoiseSchedule:
        """α and σ at every level."""
        if self._schedule is None:
            self._schedule = noise_schedule(self.spec.schedule, self.spec.levels)
        return self._schedule

    @override
    def forward(
        self, x: Float[Tensor, "b c h w"], time: Float[Tensor, "b"], labels: Int[Tensor, "b"] | None = None
    ) -> Float[Tensor, "b c h w"]:
        expect_images(x, self.spec)
        condition = self.time(time)
        if self.labels is not None:
            if labels is None:
                labels = torch.full((len(x),), self.spec.classes, device=x.device)
            condition = condition + self.labels(labels)
        elif labels is not None:
            raise ValueError("this model was built without classes, got labels; leave them out, or build it with some")
        return self.net(x, torch.nn.functional.silu(condition))

    def loss(
        self,
        images: Float[Tensor, "b c h w"],
        labels: Int[Tensor, "b"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "b"]:
        """‖net(x_t, t, class) − y‖² a pixel, with a level and noise drawn for each image of pixels from 0 to 1.

        Levels are spread evenly over the batch, from a random start: their mean varies less than that of free draws.
        """
        x0 = 2 * images - 1
        start = torch.rand((), generator=generator).item()
        place = (torch.arange(len(x0)) / len(x0) + start) % 1
        level = (1 + (place * self.spec.levels).long()).clamp(max=self.spec.levels).to(x0.device)
        noise = torch.randn(x0.shape, generator=generator).to(x0)
        alpha, sigma = self.schedule.at(level, x0)
        prediction = self(alpha * x0 + sigma * noise, level.to(x0.dtype) / self.spec.levels, labels)
        target = denoising_target(self.spec.target, x0, noise, alpha, sigma)
        return (prediction - target).square().flatten(1).mean(1)

    @torch.no_grad()
    def denoising_path(
        self,
        noise: Float[Tensor, "b c h w"],
        labels: Int[Tensor, "b"] | None = None,
        guidance: float = 1.0,
        steps: int = 25,
        sampler: str = "ddim",
        generator: torch.Generator | None = None,
    ) -> Iterator[Denoising]:
        """The stops from noise to images, ``steps`` of them and the end; ``image`` of the last is what was made.

        A step costs one pass of the network, or two at once with a ``guidance`` other than 1.
        """
        expect_choice("sampler", sampler, SAMPLERS)
        if sampler == "euler" and self.spec.schedule != "straight":
            raise ValueError(
                f"Euler's steps follow the straight schedule, got schedule={self.spec.schedule!r}; use sampler='ddim'"
            )
        self._expect_labels(labels, len(noise))
        signal, scale = (part.tolist() for part in self.schedule)
        x = noise
        for t, s in pairwise(self.schedule.timesteps(steps)):
            now, then = Level(signal[t], scale[t]), Level(signal[s], scale[s])
            prediction = self._guided(x, t / self.spec.levels, labels, guidance)
            found = denoise(self.spec.target, prediction, x, now.signal, now.noise)
            yield Denoising(t, x, found.image)
            x = self._step(sampler, x, found, now, then, generator)
        yield Denoising(0, x, x)

    def sample(
        self,
        count: int,
        labels: Int[Tensor, "b"] | None = None,
        guidance: float = 1.0,
        steps: int = 25,
        sampler: str = "ddim",
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "b c h w"]:
        """``count`` images, pixels from 0 to 1, made of noise; ``labels`` gives each a class."""
        weight = next(self.parameters())
        shape = (count, self.spec.channels, *self.spec.image)
        x = torch.randn(shape, generator=generator).to(weight)
        for stop in self.denoising_path(x, labels, guidance, steps, sampler, generator):
            x = stop.x
        return ((x + 1) / 2).clamp(0, 1)

    def _guided(self, x: Tensor, time: float, labels: Tensor | None, guidance: float) -> Tensor:
        times = x.new_full((len(x),), time)
        if labels is None or guidance == 0:
            return self(x, times)
        if guidance == 1:
            return self(x, times, labels)
        both = torch.cat([labels, torch.full_like(labels, self.spec.classes)])
        with_class, without = self(torch.cat([x, x]), torch.cat([times, times]), both).chunk(2)
        return guide(with_class, without, guidance)

    def _step(
        self, sampler: str, x: Tensor, found: Denoised, now: Level, then: Level, generator: torch.Generator | None
    ) -> Tensor:
        if sampler == "ddpm":
            return ddpm_step(x, found.image, now, then, torch.randn(x.shape, generator=generator).to(x))
        if sampler == "euler":
            return euler_step(x, found.noise - found.image, now, then)
        return ddim_step(found.image, found.noise, then)

    def _expect_labels(self, labels: Tensor | None, count: int) -> None:
        if labels is not None and len(labels) != count:
            raise ValueError(f"labels must name a class for each of {count} images, got {len(labels)}; repeat them")


__all__ = ["Denoising", "Diffusion", "DiffusionSpec"]
