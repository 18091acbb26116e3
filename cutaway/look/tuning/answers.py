r"""What tuning did to the answers: examples that were wrong before and are right now, and the other way round."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from cutaway.look.charts.text_lists import text_list
from cutaway.look.pages.picture import Picture

_SHOWN = 5  # of each kind
_IN_A_LINE = 6  # images of each kind


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

    def kinds(self) -> dict[str, np.ndarray]:
        """The places of the two kinds of flips, by their names."""
        return {"became right": self.mended, "became wrong": self.broken}

    def in_words(self) -> str:
        total = len(self.mended) + len(self.broken) + self.kept_right + self.kept_wrong
        return (
            f"Of {total:,} held-out examples {len(self.mended):,} became right, {len(self.broken):,} became wrong, "
            f"{self.kept_right:,} stayed right and {self.kept_wrong:,} stayed wrong."
        )


def flipped_texts(
    flips: Flips, texts: Sequence[str], before: Sequence[str], after: Sequence[str], rule: str, what: str = "Texts"
) -> list[Picture]:
    """The texts whose answer flipped; ``before`` and ``after`` are the answers.

    ``rule`` is a sentence on where the answers before come from; ``what`` is shown: texts, or names of other things.
    """
    places, heads, groups = [], [], []
    for group, (kind, rows) in enumerate(flips.kinds().items()):
        for i in rows[:_SHOWN].tolist():
            places.append(i)
            heads.append(f"{kind}: {before[i]} before, {after[i]} now")
            groups.append(group)
    if not places:
        return []
    title = f"{what} whose answer became right or wrong by tuning"
    caption = f"{flips.in_words()} {rule}"
    return [text_list([texts[i] for i in places], heads, groups=groups, title=title, caption=caption)]


def flipped_images(flips: Flips, images: Any, before: Sequence[str], after: Sequence[str], rule: str) -> list[Picture]:
    """The images (n, c, h, w) whose answer flipped: a line of those that became right, one of those that became wrong.

    Those that became wrong have a red frame, as mistakes have in other grids of images.
    """
    from cutaway.look.images.image_grids import image_grid

    lines = {kind: rows[:_IN_A_LINE].tolist() for kind, rows in flips.kinds().items() if len(rows)}
    if not lines:
        return []
    columns = max(len(places) for places in lines.values())
    cells = [place for places in lines.values() for place in (*places, *[None] * (columns - len(places)))]
    picture = image_grid(
        [None if i is None else images[i] for i in cells],
        names=["" if i is None else f"{before[i]} → {after[i]}" for i in cells],
        framed=[kind == "became wrong" for kind in lines for _ in range(columns)],
        rows=list(lines),
        columns=columns,
        cell=72,
        title="Images whose answer became right or wrong by tuning",
    )
    return [picture.captioned(f"{flips.in_words()} Below each image: its answer before → now. {rule}")]


__all__ = ["Flips", "flipped_images", "flipped_texts"]
