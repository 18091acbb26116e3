r"""Batches that compare: some classes, and a few images of each.

    batch n: ``ways`` classes drawn at random, ``shots`` different images of each           (ways, shots, c, h, w)

With ``turns`` a class has four faces, upright and turned by 90°, 180° and 270°, and each counts as a class of its own:
four times as many things to tell apart. A batch is a pure function of the seed and its number.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from cutaway.data.batches import Batches
from cutaway.data.images.image_data import ImageRows
from cutaway.data.seeded_draws import draw_bits, draw_permutation
from cutaway.overriding import override


class ClassBatch(NamedTuple):
    """Images as bytes, those of one class in one row, and the number of the class and of its quarter turns."""

    pixels: UInt8[np.ndarray, "w s c h v"]
    targets: Int[np.ndarray, "w"]
    turns: Int[np.ndarray, "w"]


class ClassBatches(Batches[ClassBatch]):
    """An endless stream of such batches. Where a class has fewer images than ``shots``, some come twice."""

    def __init__(
        self,
        images: ImageRows,
        ways: int,
        shots: int = 2,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        turns: bool = True,
    ) -> None:
        super().__init__(ways, seed, rank, world)
        self.images, self.shots, self.turns = images, shots, 4 if turns else 1
        self.classes, self.counts = np.unique(images.targets, return_counts=True)
        self.order = np.argsort(images.targets, kind="stable")  # the images of a class one after another
        self.starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        faces = len(self.classes) * self.turns
        if faces < 2 or ways > faces:
            raise ValueError(
                f"a batch needs two classes or more and not more than there are, got ways={ways} for "
                f"{len(self.classes)} classes{' in four turns' if turns else ''}; give more classes or lower ways"
            )

    @override
    def at(self, step: int) -> ClassBatch:
        faces = draw_permutation(self.seed, "ways", step, len(self.classes) * self.turns)[: self.batch]
        places, turns = np.divmod(faces, self.turns)
        most = int(self.counts.max())
        # Random keys put the images of each class into a random order; those beyond its last come at the end.
        keys = draw_bits(self.seed, "shots", step, self.batch * most).reshape(self.batch, most) >> np.uint64(1)
        keys[np.arange(most) >= self.counts[places, None]] |= np.uint64(1) << np.uint64(63)
        taken = np.argsort(keys, axis=1)[:, np.arange(self.shots) % most] % self.counts[places, None]
        rows = self.share(self.order[self.starts[places, None] + taken])
        places, turns = self.share(places), self.share(turns)
        pixels = self.images.pixels(rows.reshape(-1)).reshape(*rows.shape, *self.images.store.shape[1:])
        for turn in range(1, self.turns):
            here = turns == turn
            if here.any():
                pixels[here] = np.rot90(pixels[here], turn, (-2, -1))
        return ClassBatch(pixels, self.classes[places], turns)


__all__ = ["ClassBatch", "ClassBatches"]
