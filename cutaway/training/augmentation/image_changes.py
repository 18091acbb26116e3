r"""A chain of augmentations by their names, as the setting `--augment shift:2,rotate:10` gives it.

Each name may have a number after a colon: the most that it does, in the unit below.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Kind(NamedTuple):
    """The usual amount of a change, what the number is, the most it can be, and what it keeps."""

    usual: float
    unit: str
    most: float
    keeps: str


# In this order they act: places first, colours next, mixtures last.
KINDS = {
    "shift": Kind(2, "pixels", 1000, "keeps shape and size"),
    "flip": Kind(0.5, "share of the images", 1, "keeps all but left and right"),
    "rotate": Kind(10, "degrees", 180, "keeps shape and size"),
    "affine": Kind(1, "times 10°, 10 %, a shear of 0.1 and 2 pixels", 10, "keeps straight lines"),
    "crop": Kind(0.3, "share of a side cut off", 0.99, "keeps what is inside"),
    "colour": Kind(0.2, "brightness, contrast and saturation", 1, "keeps shapes"),
    "cutout": Kind(0.3, "share of a side hidden", 1, "keeps what still shows"),
    "mixup": Kind(0.2, "Beta's parameter", 100, "keeps the shares of classes"),
    "cutmix": Kind(1, "Beta's parameter", 100, "keeps the shares of classes"),
}
MIXTURES = ("mixup", "cutmix")


def read_changes(text: str, known: Sequence[str] = tuple(KINDS)) -> dict[str, float]:
    """The changes that a setting asks for, and how much of each, in the order in which they act.

    >>> read_changes("flip, shift:3")
    {'shift': 3.0, 'flip': 0.5}
    """
    found: dict[str, float] = {}
    for word in text.replace(",", " ").split():
        name, _, amount = word.partition(":")
        if name not in known:
            raise ValueError(
                f"augment must name changes from {', '.join(known)}, got {name!r}; several have commas between"
            )
        try:
            found[name] = float(amount) if amount else KINDS[name].usual
        except ValueError:
            raise ValueError(
                f"a number follows the colon of a change, got {word!r}; try {name}:{KINDS[name].usual:g} "
                f"({KINDS[name].unit})"
            ) from None
        if not 0 <= found[name] <= KINDS[name].most:
            raise ValueError(
                f"{name} must be from 0 to {KINDS[name].most:g} ({KINDS[name].unit}), got {found[name]:g}; "
                f"the usual is {name}:{KINDS[name].usual:g}"
            )
        if name == "shift" and found[name] != round(found[name]):
            raise ValueError(
                f"shift moves images by whole pixels, got {word!r}; try shift:1, or affine:0.5 for parts of a pixel"
            )
    return {name: found[name] for name in KINDS if found.get(name)}


def expect_fitting(changes: dict[str, float], height: int, width: int) -> None:
    """Images may be moved by half of their shorter side at most: else what they show would lie outside."""
    most = min(height, width) // 2
    for name, pixels in (("shift", 1), ("affine", 2)):  # pixels of one unit
        if pixels * changes.get(name, 0) > most:
            raise ValueError(
                f"{name} must move images by at most half of their shorter side, got {name}:{changes[name]:g} "
                f"({pixels * changes[name]:g} pixels) for {height} × {width} pixels; try {name}:{max(1, most // 4)}"
            )


class ImageChanges:
    """The changes of a setting, acting on the images and classes of a batch one after another."""

    def __init__(self, changes: dict[str, float], classes: int = 0) -> None:
        self.changes, self.classes = changes, classes

    def __call__(self, x: "Tensor", y: "Tensor") -> "tuple[Tensor, Tensor]":
        from cutaway.training.augmentation import mixing

        x = self.images(x)
        for name in MIXTURES:
            if name in self.changes:
                x, y = getattr(mixing, name)(x, y, self.classes, self.changes[name])
        return x, y

    def images(self, x: "Tensor") -> "Tensor":
        """Changed images alone, without the mixtures."""
        from cutaway.training.augmentation import images

        for name, amount in self.changes.items():
            if name == "shift":
                x = images.shift(x, round(amount))
            elif name == "affine":
                x = images.affine(x, 10 * amount, 0.1 * amount, 0.1 * amount, 2 * amount)
            elif name == "crop":
                x = images.crop(x, 1 - amount)
            elif name == "colour":
                x = images.colour(x, amount, amount, amount)
            elif name not in MIXTURES:
                x = getattr(images, name)(x, amount)
        return x


__all__ = ["KINDS", "MIXTURES", "ImageChanges", "Kind", "expect_fitting", "read_changes"]
