r"""A token strip shows a text with a colour behind each token, which stands for the token's value."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.grids import MONO
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import ink_on
from cutaway.look.style.wording import number, quoted, visible

_TOKENS = 2000  # in one picture, at most
_WIDE, _LINE, _LETTER, _PAD = 680, 26, 7.3, 8  # of the text, a line, a letter, and around a token


def token_strip(values: Values, tokens: Sequence[str], *, title: str = "Tokens", value: str = "value") -> Picture:
    """The ``tokens`` as running text, each on the colour of its value; a token with a line break ends the line."""
    import altair as alt

    numbers = as_array("values", values, "tokens")
    if len(tokens) != len(numbers):
        raise ValueError(
            f"there must be a token for every value, got {len(tokens)} for {len(numbers)}; decode them one by one"
        )
    if len(tokens) > _TOKENS:
        raise ValueError(f"a text of at most {_TOKENS} tokens can be shown, got {len(tokens)}; pass a part of it")
    shades = Shades.of(numbers)
    rows, x, y = [], 0.0, 0
    for i, (token, amount) in enumerate(zip(tokens, numbers.tolist())):
        word = visible(token, 24)
        wide = len(word) * _LETTER + _PAD
        if x and x + wide > _WIDE:
            x, y = 0.0, y + _LINE
        share = (amount - shades.low) / (shades.high - shades.low) if np.isfinite(amount) else 0.0
        dark = ink_on(share, shades.colours) == "#FFFFFF"
        place = {"left": x, "right": x + wide - 2, "top": y, "bottom": y + _LINE - 4, "middle": x + wide / 2 - 1}
        rows.append({"at": i, "word": word, "value": amount, "dark": dark} | place)
        x += wide
        if "\n" in token:
            x, y = 0.0, y + _LINE
    base = alt.Chart(alt.NamedData("rows")).encode(
        tooltip=[
            alt.Tooltip("word:N", title="token"),
            alt.Tooltip("at:Q", title="position"),
            alt.Tooltip("value:Q", title=value, format=".4~g"),
        ]
    )
    pixels: dict[str, Any] = dict(scale=None, axis=None)
    boxes = base.mark_rect(cornerRadius=3, aria=False).encode(
        x=alt.X("left:Q", **pixels),
        x2="right:Q",
        y=alt.Y("top:Q", **pixels),
        y2="bottom:Q",
        color=shades.channel("value", value, 120),
    )
    words = base.mark_text(font=MONO, fontSize=12, baseline="middle", dy=(_LINE - 4) / 2, aria=False).encode(
        x=alt.X("middle:Q", **pixels),
        y=alt.Y("top:Q", **pixels),
        text="word:N",
        color=alt.condition("datum.dark", alt.value("#FFFFFF"), alt.value("#000000")),
    )
    wide = math.ceil(max(row["right"] for row in rows))
    chart = alt.layer(boxes, words).properties(width=wide, height=max(y + _LINE, 100))
    strongest = int(np.nanargmax(np.abs(numbers))) if np.isfinite(numbers).any() else 0
    most = f"Strongest: {quoted(tokens[strongest])} at {strongest}, {number(float(numbers[strongest]), 3)}."
    caption = "The stronger its colour, the more the answer depends on that token."
    words = f"{len(rows)} tokens coloured by {value}. {most}"
    return Picture(chart, title, words, most, rows, caption=caption)
