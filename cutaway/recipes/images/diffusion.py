r"""`diffusion`: makes images of noise, step by step, of a class if the images have some."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import numpy as np
    from torch import Generator, Tensor, nn

    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

_SMALL, _LARGE = 16, 48  # sides up to which no pixels are shuffled, and from which squares of 4 × 4 are
_JUDGED = 500  # samples that the end of training is judged by
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
    unit: ClassVar[str] = "squared error a pixel"
    samples_by_steps: ClassVar[bool] = True
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

    def settled(self, task: Any = None, base: Any = None) -> "DiffusionRecipe":
        """The recipe with what depends on grey or colour chosen: photographs take a larger network and longer."""
        data = self.dataset()
        usual = _GREY if data.shape[0] == 1 else _COLOUR
        settings: dict[str, Any] = {name: getattr(self, name) or value for name, value in usual.items()}
        chosen = replace(self, **settings)
        object.__setattr__(chosen, "_read_data", data)
        return chosen

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        if not all(getattr(self, name) for name in self.open_settings):
            return self.settled().job(rank, world)
        return super().job(rank, world)

    def dataset(self, run: "Run | None" = None) -> "ImageData":
        held = getattr(self, "_read_data", None)
        return super().dataset(run) if held is None or run is not None else held

    def build(self, data: "ImageData") -> "nn.Module":
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

    def cost(self, model: Any, images: "Tensor", labels: "Tensor") -> "Tensor":
        import torch

        known = self._known(model, labels)
        if known is not None:
            hidden = torch.rand(labels.shape, device=labels.device) < self.drop_label
            known = known.masked_fill(hidden, model.spec.classes)
        return model.loss(images, known).mean()

    def _known(self, model: Any, labels: "Tensor") -> "Tensor | None":
        """Classes as the model takes them: unknown ones are "no class"; None if it knows no classes."""
        return labels.masked_fill(labels < 0, model.spec.classes) if model.spec.classes else None

    def measure(self, model: Any, images: "ImageRows", draws: int = 1) -> dict[str, float]:
        """The squared error of the prediction, with levels and noise of a fixed seed."""
        import torch

        from cutaway.data.images.image_batches import every_image
        from cutaway.tasks.images.pixels import as_tensors

        generator = torch.Generator().manual_seed(0)
        total = 0.0
        with torch.no_grad():
            for batch in every_image(images):
                x, labels = as_tensors(model, batch)
                known = self._known(model, labels)
                total += sum(model.loss(x, known, generator).double().sum().item() for _ in range(draws))
        return {"loss": total / (draws * len(images))}

    def naive(self, data: "ImageData", images: "ImageRows") -> dict[str, Any]:
        """Samples of the Gaussian with the mean and covariance of the training pixels."""
        from cutaway.tasks.images.judge import judge_of
        from cutaway.tasks.images.sample_scores import gaussian_samples, score_samples

        made = gaussian_samples(data.train, min(_JUDGED, len(images)), self.seed)
        found = score_samples(made, data.train, images)
        if not found:
            return {}
        rule = (
            "samples of the Gaussian with the mean and covariance of the training images' pixels; precision and "
            f"coverage are by the features of {judge_of(data.train).words}"
        )
        return {"rule": rule, "metrics": {name: found[name] for name in found if not name.startswith("real_")}}

    def said_at_the_end(self, data: "ImageData") -> str:
        count = min(_JUDGED, 0 if data.validation is None else len(data.validation))
        return f"making {count} samples, {self.sampling_steps} steps each, to judge them beside held-out images"

    def at_the_end(self, model: Any, data: "ImageData") -> dict[str, float]:
        """How samples compare with images that it was not trained on."""
        import torch

        from cutaway.tasks.images.sample_scores import score_samples

        assert data.validation is not None
        held = data.validation
        count = min(_JUDGED, len(held))
        generator = torch.Generator().manual_seed(self.seed)
        classes = torch.from_numpy(held.targets[:count].astype("int64"))
        known = self._known(model, classes)
        parts = []
        for first in range(0, count, 125):
            some = None if known is None else known[first : first + 125].to(model.device)
            size = min(125, count - first)
            parts.append(model.sample(size, some, self.guidance, self.sampling_steps, self.sampler, generator).cpu())
        return score_samples(torch.cat(parts), data.train, held, None if known is None else classes)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return self.measure(run.model, self.dataset(run).open_test(), draws=10)

    def sampler_of(
        self, run: "Run", guidance: float | None, steps: int | None
    ) -> "Callable[[int, np.ndarray | None, Generator], Tensor]":
        """Noise, and from there step by step to images."""
        import torch

        model: Any = run.model
        strength = self.guidance if guidance is None else guidance
        if not strength >= 0:
            raise ValueError(f"guidance must be 0 or above, got {strength}; try guidance=1.5")
        stops = self.sampling_steps if steps is None else steps
        if not 1 <= stops <= model.spec.levels:
            raise ValueError(f"steps must be from 1 to {model.spec.levels}, got {stops}; try steps=25")

        def draw(count: int, classes: "np.ndarray | None", generator: "Generator") -> "Tensor":
            labels = None if classes is None else torch.from_numpy(classes).to(model.device)
            return model.sample(count, labels, strength, stops, self.sampler, generator)

        return draw

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Images with noise halfway to the end, as the network sees them."""
        import torch

        model: Any = run.model
        found = super().subject(run, given)
        (images,) = found.arguments
        level = torch.full((len(images),), model.spec.levels // 2, device=images.device)
        noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(0)).to(images)
        x = model.schedule.add_noise(2 * images - 1, noise, level)
        return replace(
            found,
            arguments=(x, level.to(x.dtype) / model.spec.levels),
            words=f"{found.words}, with noise at level {model.spec.levels // 2} of {model.spec.levels}",
        )

    def classes_of(self, run: "Run", label: Any, count: int) -> "np.ndarray | None":
        """Every class in turn, where none was asked for: images of no class mix features of several."""
        import numpy as np

        model: Any = run.model
        if label is not None and not model.spec.classes:
            raise ValueError(f"this run learned no classes, got label={label!r}; leave it out, or train it with labels")
        if label is None and model.spec.classes:
            return np.resize(np.arange(model.spec.classes), count)
        return super().classes_of(run, label, count)
