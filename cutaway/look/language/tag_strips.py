r"""A tag strip shows a sentence with the tag of each word beneath it, on a colour that says how sure the model is."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.grids import MONO
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import MAGNITUDE, ink_on
from cutaway.look.style.wording import quoted, visible

_WORDS = 200  # in one picture, at most
_WIDE, _LETTER, _PAD = 680, 7.3, 14  # of the picture, a letter, and around a word
_LINE, _WORD, _BOX = 78, 20, 20  # of a line of words, of a word, of a tag


def tag_strip(
    probabilities: Values, words: Sequence[str], tags: Sequence[str], *, title: str = "The tag of each word"
) -> Picture:
    """``words`` with their likeliest of the ``tags`` beneath, and the second one below that in small.

    ``probabilities`` has a row for every word and a column for every tag.
    """
    import altair as alt

    p = as_array("probabilities", probabilities, "words", "tags")
    if p.shape != (len(words), len(tags)):
        raise ValueError(
            f"probabilities must have a row for each of {len(words)} words and a column for each of {len(tags)} tags, "
            f"got shape {p.shape}; pass softmax(logits) of one sentence"
        )
    if len(words) > _WORDS:
        raise ValueError(f"a sentence of at most {_WORDS} words can be shown, got {len(words)}; pass a part of it")
    rows, height = _placed(p, words, tags)
    shades = Shades(MAGNITUDE, 0.0, 1.0)
    base = alt.Chart(alt.NamedData("rows")).encode(
        tooltip=[
            alt.Tooltip("word:N"),
            alt.Tooltip("tag:N"),
            alt.Tooltip("probability:Q", format=".1%"),
            alt.Tooltip("second:N", title="or else"),
        ]
    )
    pixels: dict[str, Any] = dict(scale=None, axis=None)
    text: dict[str, Any] = dict(font=MONO, baseline="middle", aria=False)
    boxes = base.mark_rect(cornerRadius=3, aria=False).encode(
        x=alt.X("left:Q", **pixels),
        x2="right:Q",
        y=alt.Y("top:Q", **pixels),
        y2="bottom:Q",
        color=shades.channel("probability", "probability", 120),
    )
    x = alt.X("middle:Q", **pixels)
    ink = alt.condition("datum.dark", alt.value("#FFFFFF"), alt.value("#000000"))
    layers = [
        boxes,
        base.mark_text(fontSize=12, fontWeight="bold", **text).encode(
            x=x, y=alt.Y("at_word:Q", **pixels), text="word:N"
        ),
        base.mark_text(fontSize=11, **text).encode(x=x, y=alt.Y("at_tag:Q", **pixels), text="tag:N", color=ink),
        base.mark_text(fontSize=10, opacity=0.7, **text).encode(x=x, y=alt.Y("at_second:Q", **pixels), text="second:N"),
    ]
    wide = math.ceil(max(row["right"] for row in rows))
    chart = alt.layer(*layers).properties(width=wide, height=max(height, 110))
    unsure = min(rows, key=lambda row: row["probability"])
    doubt = f"It is least sure of {quoted(unsure['word'])}: {unsure['tag']} with {unsure['probability']:.0%}."
    words_about = f"{len(rows)} words, each with its likeliest tag: " + ", ".join(
        f"{r['word']} {r['tag']}" for r in rows[:12]
    )
    caption = f"Below each word is its likeliest tag, below that what else it might be. {doubt}"
    return Picture(chart, title, f"{words_about}. {doubt}", "", rows, caption=caption)


def _placed(p: np.ndarray, words: Sequence[str], tags: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """Where each word, its tag and the second tag stand, in lines; and the height of all lines."""
    rows: list[dict[str, Any]] = []
    x, y = 0.0, 0
    for word, own in zip(words, p, strict=True):
        order = np.argsort(-own, kind="stable")
        best = int(order[0])
        shown = visible(word, 24)
        second = f"{tags[order[1]]} {own[order[1]]:.0%}" if len(tags) > 1 and own[order[1]] >= 0.005 else ""
        wide = max(len(shown), len(tags[best]), round(0.85 * len(second)), 3) * _LETTER + _PAD
        if x and x + wide > _WIDE:
            x, y = 0.0, y + _LINE
        places = {"left": x, "right": x + wide - 4, "middle": x + wide / 2 - 2}
        heights = {"top": y + _WORD, "bottom": y + _WORD + _BOX, "at_word": y + _WORD / 2}
        heights |= {"at_tag": y + _WORD + _BOX / 2, "at_second": y + _WORD + _BOX + 11}
        dark = ink_on(float(own[best]), MAGNITUDE) == "#FFFFFF"
        about = {"word": shown, "tag": tags[best], "probability": float(own[best]), "second": second, "dark": dark}
        rows.append(about | places | heights)
        x += wide
    return rows, y + _LINE


__all__ = ["tag_strip"]
