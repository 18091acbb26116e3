r"""What tuning did to the answers: examples that were wrong before and are right now, and the other way round."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from cutaway.look.charts.text_lists import text_list
from cutaway.look.pages.picture import Picture

_SHOWN = 5  # of each kind


class Flips(NamedTuple):
    """Places of examples by what became of their answers."""

    mended: np.ndarray  # wrong before, right now
    broken: np.ndarray  # right before, wrong now
    kept_right: int
    kept_wrong: int

    @classmethod
    def of(cls, right_before: Bool[np.ndarray, "n"], right_after: Bool[np.ndarray, "n"]) -> "Flips":
        before, after = np.asarray(right_before, bool), np.asarray(right_after, bool)
        if before.shape != after.shape or before.ndim != 1:
            raise ValueError(
                f"answers before and after must be of the same examples, got {before.shape} and {after.shape}; "
                "give one each"
            )
        return cls(
            np.flatnonzero(~before & after),
            np.flatnonzero(before & ~after),
            int((before & after).sum()),
            int((~before & ~after).sum()),
        )

    def in_words(self) -> str:
        total = len(self.mended) + len(self.broken) + self.kept_right + self.kept_wrong
        return (
            f"Of {total:,} held-out examples {len(self.mended):,} became right, {len(self.broken):,} became wrong, "
            f"{self.kept_right:,} stayed right and {self.kept_wrong:,} wrong."
        )


def flipped_texts(
    flips: Flips, texts: Sequence[str], before: Sequence[str], after: Sequence[str], rule: str, what: str = "Texts"
) -> list[Picture]:
    """The texts whose answer flipped; ``before`` and ``after`` are the answers, ``rule`` says whose came before.

    ``what`` they are: texts, or names of other things.
    """
    places, heads = [], []
    for kind, rows in (("became right", flips.mended), ("became wrong", flips.broken)):
        for i in rows[:_SHOWN].tolist():
            places.append(i)
            heads.append(f"{kind}: {before[i]} before, {after[i]} now")
    if not places:
        return []
    title = f"{what} whose answer flipped by tuning"
    return [text_list([texts[i] for i in places], heads, title=title, caption=f"{flips.in_words()} Before: {rule}.")]


def flipped_images(flips: Flips, images: Any, before: Sequence[str], after: Sequence[str], rule: str) -> list[Picture]:
    """The images (n, c, h, w) whose answer flipped."""
    from cutaway.look.images.image_grids import image_grid

    places = [*flips.mended[: 2 * _SHOWN].tolist(), *flips.broken[: 2 * _SHOWN].tolist()]
    if not places:
        return []
    names = [f"{before[i]} → {after[i]}" for i in places]
    picture = image_grid(
        [images[i] for i in places], names=names, columns=5, title="Images whose answer flipped by tuning"
    )
    return [picture.captioned(f"{flips.in_words()} Those that became right come first. Before: {rule}.")]


__all__ = ["Flips", "flipped_images", "flipped_texts"]
