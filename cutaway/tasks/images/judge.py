r"""Judges images in features of a small network, where a blur of the right colours is as far from photographs as it is.

    s = cnn(x),   softmax(s) ≈ P(class of the image, or which damage)             s: the features

It learns the classes of the training images, where they have labels, and in any case to tell images from damaged copies
of them: phases of waves drawn anew (the same colours and spectrum, no things), pulled about, patched together, blurred,
white noise. So its features know whether there is a thing, and which. It is trained anew for each set of images, on
these alone, in a few seconds: larger images are made smaller first. Sajjadi et al. 2018 (scores in features).
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.data.images.image_data import ImageRows

_SIDE = 32  # of images as the network sees them, at most
_SEEN = 20_000  # training images, at most
_STEPS, _BATCH, _RATE = 400, 64, 4e-3
_WIDTH, _STAGES = 16, 3
_FEWEST = 8  # labelled images of a class, for it to be learned


class ImageJudge(NamedTuple):
    """A trained network: how many classes of images it knows (0: they have no labels), before those of damage."""

    net: nn.Module
    classes: int

    @property
    def words(self) -> str:
        """Which network it is, in a clause."""
        if self.classes:
            return (
                f"a small network that learned the {self.classes} classes of the training images, and to tell them "
                "from damaged copies"
            )
        return "a small network that learned, without labels, to tell the training images from damaged copies"

    def features(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n k"]:
        """Features of images of pixels from 0 to 1: a number for each class and each damage, before the softmax."""
        return torch.cat([_small_logits(self.net, part) for part in images.split(250)])

    def is_whole(self, images: Float[Tensor, "n c h w"]) -> Bool[Tensor, "n"]:
        """Which images it takes for an image, of whatever class, rather than for any damage."""
        return self.features(images).argmax(1) < max(self.classes, 1)

    def recognised(self, images: Float[Tensor, "n c h w"], classes: Int[Tensor, "n"]) -> float:
        """The share of images that it gives their class, rather than any other or any damage; −1: of no class."""
        asked = classes >= 0
        return (self.features(images).argmax(1) == classes)[asked].float().mean().item() if asked.any() else 0.0


_judges: "WeakKeyDictionary[ImageRows, ImageJudge]" = WeakKeyDictionary()


def judge_of(train: ImageRows) -> ImageJudge:
    """The judge of some training images: trained the first time that it is asked for, the same for the same images."""
    if train not in _judges:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            _judges[train] = _trained(train)
    return _judges[train]


def _trained(train: ImageRows) -> ImageJudge:
    from cutaway.models.convolutional.cnn import CNN

    places = np.linspace(0, len(train) - 1, min(_SEEN, len(train))).astype(np.int64)
    known = np.unique(train.targets[train.targets >= 0])
    counts = [int((train.targets == one).sum()) for one in known]
    labelled = len(known) > 1 and min(counts) >= _FEWEST
    if labelled:
        places = places[train.targets[places] >= 0]
    pixels = torch.cat([_small(_as_pixels(train, some)) for some in np.array_split(places, len(places) // 500 + 1)])
    classes = int(known.max()) + 1 if labelled else 0
    targets = torch.from_numpy(train.targets[places].astype(np.int64)) if labelled else torch.zeros(len(pixels)).long()
    first = max(classes, 1)  # of the classes of damage
    squares = 2 if min(pixels.shape[2:]) >= 16 else 1
    net = CNN(
        classes=first + len(_DAMAGES),
        channels=pixels.shape[1],
        width=_WIDTH,
        stages=min(_STAGES, (min(pixels.shape[2:]) // squares).bit_length()),
        depth=1,
        squares=squares,
    )
    optimizer = torch.optim.AdamW(net.parameters(), _RATE, weight_decay=0.01)
    net.train()
    with torch.enable_grad():
        for step in range(_STEPS):
            chosen = torch.randint(len(pixels), (_BATCH,))
            x, y = pixels[chosen], targets[chosen]
            made = [damage(part) for damage, part in zip(_DAMAGES, x.tensor_split(len(_DAMAGES)), strict=True)]
            kinds = [torch.full((len(part),), first + i) for i, part in enumerate(made)]
            cost = nn.functional.cross_entropy(net(torch.cat([x, *made])), torch.cat([y, *kinds]))
            for group in optimizer.param_groups:
                group["lr"] = _RATE * (1 - step / _STEPS)
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
    return ImageJudge(net.eval(), classes)


def _as_pixels(rows: ImageRows, places: Int[np.ndarray, "k"]) -> Tensor:
    return torch.from_numpy(rows.pixels(places)).float() / 255


def _small(images: Tensor) -> Tensor:
    sides = min(images.shape[2], _SIDE), min(images.shape[3], _SIDE)
    return images if sides == images.shape[2:] else nn.functional.adaptive_avg_pool2d(images, sides)


@torch.no_grad()
def _small_logits(net: nn.Module, images: Tensor) -> Tensor:
    return net(_small(images))


def _new_phases(x: Tensor) -> Tensor:
    """Images of the same waves with other phases: colours, contrast and spectrum stay, things go."""
    waves = torch.fft.rfft2(x)
    turned = torch.fft.rfft2(torch.randn(len(x), 1, *x.shape[2:]))
    turned = turned / turned.abs().clamp(min=1e-9)
    turned[:, :, 0, 0] = 1  # the mean stays
    return torch.fft.irfft2(waves * turned, s=x.shape[2:]).clamp(0, 1)


def _warped(x: Tensor) -> Tensor:
    """Images pulled about like dough: every small part looks right, the whole does not."""
    b, _, height, width = x.shape
    pulls = _smooth(0.5 * torch.randn(b, 2, 4, 4), (height, width)).permute(0, 2, 3, 1)
    rows, columns = torch.linspace(-1, 1, height), torch.linspace(-1, 1, width)
    places = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)
    return nn.functional.grid_sample(x, places + pulls, padding_mode="reflection", align_corners=True)


def _patched(x: Tensor) -> Tensor:
    """Parts of an image beside parts of others, with soft borders."""
    mask = (4 * _smooth(torch.randn(len(x), 1, 4, 4), (x.shape[2], x.shape[3]))).sigmoid()
    return mask * x + (1 - mask) * x.roll(1, 0).flip(3)


def _coarse(x: Tensor) -> Tensor:
    """Blurred, until few places are left to tell apart."""
    few = int(torch.randint(2, 6, ()))
    return _smooth(nn.functional.adaptive_avg_pool2d(x, few), (x.shape[2], x.shape[3]))


def _smooth(few: Tensor, size: tuple[int, int]) -> Tensor:
    return nn.functional.interpolate(few, size, mode="bicubic").clamp(-3, 3)


def _white_noise(x: Tensor) -> Tensor:
    return torch.rand_like(x)


_DAMAGES = (_new_phases, _warped, _patched, _coarse, _white_noise)

__all__ = ["ImageJudge", "judge_of"]
