r"""`siamese`: learns which images are of one kind, and then tells kinds apart of which it is shown a single example."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.augmentation.image_changes import MIXTURES, ImageChanges, read_changes

if TYPE_CHECKING:
    from cutaway.data.images.image_data import ImageRows
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


_KNOWN = "the share of new images, of the classes of training, that are more alike to an example of another class"


@dataclass(frozen=True)
class SiameseRecipe(ImageRecipe):
    """Learns which images are of one kind, and tells new kinds apart by a single example of each.

    Classes of validation and test are never trained on, if there are enough of them. `cutaway predict RUN folder/`
    names each image by the most alike example: those in folder/support (a folder or a file a class), else the classes
    that it was trained on.
    """

    name: ClassVar[str] = "siamese"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images in; the class whose examples, in folder/support, are most alike to each image "
            "out",
        ),
    )
    quality: ClassVar[str] = (
        "Omniglot's 20 official one-shot runs, 20 classes with one example each, trained on one of the two small "
        "background sets with --steps 1500, 180 s of one core: 6.0 and 5.0 % errors, one seed (published: people 4.5, "
        "a convolutional network 23.2, modified Hausdorff distance 38.8): `python benchmarks/run.py one_shot`."
    )
    unit: ClassVar[str] = "nats a pair"
    needs_labels: ClassVar[bool] = True
    meanings: ClassVar[dict[str, str]] = {
        "one_shot_error": "the share of images of new classes that are more alike to an example of another class",
        "ways": "the number of classes with one example each, among which it must find the right one",
    }

    class_folder: Literal["first", "last"] = setting("last", DATA)
    validation: float = setting(0.2, DATA)
    """share of the classes (or of their groups) to evaluate on; 0 for none"""
    test: float = setting(0.0, DATA)
    """share of the classes for `cutaway test`; 0 for none"""
    hold_out: Literal["auto", "classes", "images"] = setting("auto", DATA)
    """what validation and test have: whole classes, images of every class, or classes if there are enough (auto)"""
    loss: Literal["infonce", "prototypical", "margin"] = setting("infonce", FIRST)
    """each image finds its like among all; the nearest example wins; or like pairs near, others a margin apart"""
    temperature: float = setting(0.07, MODEL)
    """of infonce and prototypical: small ones care for the most alike others alone"""
    margin: float = setting(1.0, MODEL)
    """of margin: how far apart images of different classes must be; vectors have length 1"""
    ways: int = setting(48, FIRST)
    """classes in a batch, at most"""
    shots: int = setting(2, DATA)
    """images of each class in a batch"""
    turns: bool = setting(True, DATA)
    """classes turned by 90°, 180° and 270° count as classes of their own; square images only"""
    centre: bool | None = setting(None, DATA)
    """whether what stands out is brought to the middle and to one size; without it, where the ground is plain"""
    augment: str = setting("affine:1.5", DATA, "CHANGES")
    """changes of the images in training: shift, flip, rotate, affine, crop, colour, cutout; as in shift:2,rotate:10"""
    average: int = setting(8, MODEL)
    """small changes of an image whose vectors are averaged when it is used; 0 for the image alone"""
    width: int = 48
    """channels of the first stage; the later ones have twice as many"""
    stages: int = 3
    """stages, after each of which the image is half as large; fewer for small images"""
    embedding: int = 128
    """numbers in the vector of an image"""

    size: int = setting(32, DATA)
    """pixels on the longer side; 0 for that of the images, at most 64"""
    steps: int = 800
    """optimizer steps"""
    rate: float = 2e-3
    """full learning rate"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: last, or best by validation"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "stages", "embedding")
        expect_at_least(self, 2, "ways", "shots")
        expect_at_least(self, 0, "average")
        for name in ("temperature", "margin"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}; try {name}=0.1")
        mixed = [name for name in read_changes(self.augment) if name in MIXTURES]
        if mixed:
            raise ValueError(f"augment must keep each image one kind, got {mixed[0]}, which mixes two; leave it out")

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.images.class_batches import ClassBatches
        from cutaway.models.siamese import Siamese
        from cutaway.tasks.images.one_shot import (
            contrastive_cost,
            draw_episodes,
            group_numbers,
            has_plain_ground,
            one_shot_metrics,
            pixel_baseline,
        )
        from cutaway.training.jobs import Job

        data = self.dataset()
        torch.manual_seed(self.seed)
        channels, height, width = data.shape
        some = torch.from_numpy(data.train.take(slice(0, 2000)).pixels()).float() / 255
        centred = has_plain_ground(some) if self.centre is None else self.centre
        model = Siamese(
            channels=channels,
            image=(height, width),
            squares=2 if min(height, width) >= 2 ** (self.stages + 1) else 1,
            width=self.width,
            stages=fitting_stages(self.stages, min(height, width)),
            embedding=self.embedding,
            centred=centred,
        )
        model.set_scale(some)
        turns = self.turns and height == width
        classes = len(set(data.train.targets.tolist()))
        if classes < 2:
            raise ValueError(
                f"images are compared between classes, of which training needs two or more, got {classes} of "
                f"{len(data.labels)} in {data.name}; give more classes to train on"
            )
        ways = min(self.ways, classes * (4 if turns else 1))
        ways -= ways % world
        batches = ClassBatches(data.train, ways, self.shots, self.seed, rank, world, turns)
        groups = group_numbers(data.labels)
        facts = self.image_facts(data)
        if centred:
            told = "what stands out is brought to the middle and to one size; to keep it where it is: --no-centre"
            facts["summary"] += f"\n{data.name}: {told}"
        held = data.validation
        if held is not None:
            if set(held.targets.tolist()) <= set(data.train.targets.tolist()):
                facts["meanings"]["one_shot_error"] = _KNOWN
            episodes = draw_episodes(held.targets, groups[held.targets])
            if episodes is not None:
                facts["baseline"] = pixel_baseline(held, episodes)
            else:
                facts["summary"] += (
                    f"\n{data.name}: nothing is measured, as validation has no two classes with two images each; give "
                    "more images, or raise --validation"
                )
        changes = ImageChanges(read_changes(self.augment))
        return Job(
            model=model,
            batches=batches,
            objective=partial(contrastive_cost, recipe=self, changes=changes),
            evaluate=lambda m: {} if held is None else one_shot_metrics(m, held, groups, 0),
            whole=lambda m: {} if held is None else one_shot_metrics(m, held, groups, self.average),
            units=ways * self.shots,
            unit="images",
            files=self.image_files(data),
            data=facts,
            better="one_shot_error",
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.images.one_shot import draw_episodes, group_numbers, one_shot_metrics, pixel_baseline

        rows, labels = self.test_images(run)
        groups = group_numbers(labels)
        found = one_shot_metrics(run.model, rows, groups, self.average)
        episodes = draw_episodes(rows.targets, groups[rows.targets])
        if episodes is not None:
            found["baseline_one_shot_error"] = pixel_baseline(rows, episodes)["metrics"]["one_shot_error"]
        return found

    def test_images(self, run: "Run") -> "tuple[ImageRows, tuple[str, ...]]":
        """The test images and the names of their classes; a test set of its own has classes of its own."""
        if not (self.test_file or self.test):
            raise ValueError(
                "a test needs classes that were kept for it, got a run with test=0; train it with --test 0.2, or with "
                "--test-file and images of other classes"
            )
        data = self.dataset(run)
        if not self.test_file:
            return data.open_test(), data.labels
        own = replace(
            self,
            data=self.test_file,
            test_file="",
            validation=0.0,
            test=0.0,
            size=max(data.shape[1:]),
            channels=data.shape[0],
        ).dataset()
        if own.shape != data.shape:
            raise ValueError(
                f"test images must have the shape of training, got {own.shape[1]}×{own.shape[2]} in {self.test_file} "
                f"where training has {data.shape[1]}×{data.shape[2]}; crop them to its proportions"
            )
        return own.train, own.labels

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The most alike class of each image, by examples of your own or by the classes that it was trained on."""
        from cutaway.tasks.images.one_shot_answers import answers

        return answers(run, inputs)


def fitting_stages(stages: int, side: int) -> int:
    """As many stages as images of that side have room for.

    >>> fitting_stages(3, 32), fitting_stages(3, 8), fitting_stages(3, 5)
    (3, 3, 2)
    """
    return max(1, min(stages, side.bit_length() - 1))
