r"""`diffusion`: makes images of noise, step by step, of a class if the images have some."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.denoising import Denoiser

_SMALL, _LARGE = 16, 48  # sides up to which no pixels are shuffled, and from which squares of 4 × 4 are
_GREY = dict(steps=1200, batch=128, width=32, stages=2, evaluate_every=200)  # drawn or written things
_COLOUR = dict(steps=8000, batch=32, width=64, stages=3, evaluate_every=500)  # photographs: many small steps


@dataclass(frozen=True)
class DiffusionRecipe(GenerativeRecipe):
    """Learns to tell image from noise at every level of noise, and makes images by taking noise away in steps.

    By default it learns the flow along the straight line from image to noise; --noise-schedule cosine --predicts noise
    --sampler ddpm is denoising diffusion as it was first published. Images with labels teach it their classes.
    """

    name: ClassVar[str] = "diffusion"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("embed", refuses="its model has no vectors of images"),
        Offer("encode", refuses="its model has no code"),
        Offer("decode", refuses="its model has no code"),
    )
    task_kind: ClassVar[str] = "images/generate"
    unit: ClassVar[str] = "squared error a pixel"
    open_settings: ClassVar[tuple[str, ...]] = tuple(_GREY)
    quality: ClassVar[str] = (
        "MNIST, --steps 8000 --batch 64 --ema 0.999, 13 minutes of one core, one seed: a network that it never met "
        "recognises 98.5 % of samples (25 steps, guidance 1.5); their Fréchet distance to the test set is 1.5 times "
        "that of as many training images. `python benchmarks/run.py generative` measures it. "
        "On digits after --steps 300 --width 16, 19 s of one core: 82 % of samples lie within reach of a real image in "
        "features of a network (of held-out images 97 %, of samples of a Gaussian 7 %), 85 % are given their class."
    )
    meanings: ClassVar[dict[str, str]] = {
        "precision": (
            "the share of samples that a network takes for whole images and that lie, in its features, as near to a "
            "held-out image as its neighbours do: are they good?"
        ),
        "coverage": (
            "the share of held-out images with such a sample as near as their neighbours are: is every kind there?"
        ),
        "recognised": "the share of samples that the network gives the class that they were asked for",
        "real_precision": "the same of held-out images that samples are not compared with: as good as it gets",
        "real_recognised": "the share of held-out images that it gives their class",
        "novelty": (
            "how far the pixels of samples are from the nearest training image, where held-out images are 1; copies "
            "are 0"
        ),
        "loss": "the squared error of the prediction over all levels of noise; it stays above 0, for noise hides much",
    }

    guidance: float = setting(1.5, FIRST)
    """how far samples of a class are driven to what sets it apart: 1 not at all; higher is clearer and less varied"""
    sampling_steps: int = setting(25, FIRST)
    """steps from noise to image"""
    sampler: Literal["ddim", "ddpm", "euler"] = setting("ddim", MODEL)
    """how a step is made: ddim and euler (straight schedule only) draw nothing new, ddpm draws in each step"""
    noise_schedule: Literal["straight", "cosine", "linear"] = setting("straight", MODEL)
    """how image and noise are mixed over the levels"""
    predicts: Literal["flow", "velocity", "noise", "image"] = setting("flow", MODEL)
    """what the network predicts"""
    conditional: bool = setting(True, MODEL)
    """learn the classes, where images have labels"""
    drop_label: float = setting(0.1, MODEL)
    """share of images whose class is hidden in training, which guidance needs"""
    width: int = setting(0, FIRST)
    """channels of the first stage; each next one has twice as many; 0 for 32, in colour 64"""
    depth: int = setting(1, MODEL)
    """residual blocks of a stage, on the way down, in the middle and on the way up"""
    stages: int = setting(0, MODEL)
    """sizes at which the image is looked at, each half the one before; 0 for 2, in colour 3"""
    batch: int = 0
    """images in a batch; fewer images are taken whole; 0 for 128, in colour 32"""
    steps: int = 0
    """optimizer steps; 0 for 1,200, in colour 8,000"""
    evaluate_every: int = 0
    """steps between evaluations; 0 for 200, in colour 500"""
    rate: float = 2e-3
    beta: float = 0.99
    weight_decay: float = 1e-2
    warmup: int = 100
    ema: float = 0.998
    final: Literal["best", "last"] = setting("last", RESULTS)
    """the weights that the run ends with: last (an average, with ema), or best by validation"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "sampling_steps", "depth")
        expect_at_least(self, 0, "guidance")
        expect_share(self, "drop_label")
        if self.sampler == "euler" and self.noise_schedule != "straight":
            raise ValueError(
                f"sampler='euler' follows the straight schedule, got "
                f"noise_schedule={self.noise_schedule!r}; use sampler='ddim'"
            )
        if (self.noise_schedule, self.predicts) == ("straight", "noise"):
            raise ValueError(
                "the straight schedule ends in noise alone, from which no image follows, got predicts='noise'; use "
                "predicts='flow' or noise_schedule='cosine'"
            )

    @override
    def settled(self, task: Any, base: Any = None) -> "DiffusionRecipe":
        """New settings, with what depends on grey or colour chosen: photographs take a larger network and longer."""
        usual = _GREY if task.parts.shape[0] == 1 else _COLOUR
        chosen: dict[str, Any] = {name: getattr(self, name) or value for name, value in usual.items()}
        return replace(self, **chosen)

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.diffusion.denoising_model import Diffusion

        channels, height, width = data.shape
        side = max(height, width)
        return Diffusion(
            image=(height, width),
            channels=channels,
            classes=len(data.labels) if self.conditional and len(data.labels) > 1 else 0,
            width=self.width,
            depth=self.depth,
            stages=self.stages,
            shuffle=1 if side <= _SMALL else 2 if side < _LARGE else 4,
            schedule=self.noise_schedule,
            target=self.predicts,
        )

    @override
    def learner_kind(self) -> "type[Denoiser]":
        from cutaway.tasks.images.denoising import Denoiser

        return Denoiser
