r"""A list of texts, each with a word or two before it: examples that a reader should look at."""

import textwrap
from collections.abc import Sequence
from typing import Any

from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short, writable

_TEXTS = 40  # in one picture, at most
_INDENT = 18  # pixels, right of the marks
_WIDE, _LINES, _LINE, _GAP = 88, 3, 16, 10  # letters in a line, lines of a text, pixels of a line, and between texts


def text_list(
    texts: Sequence[str], heads: Sequence[str], *, title: str, caption: str = "", groups: Sequence[int] = ()
) -> Picture:
    """The ``texts``, one below the other, each under its own ``heads`` with a coloured mark; long ones are cut.

    ``groups`` are numbers from 0, one for each text: heads of one group have marks of one colour.

    >>> text_list(["so charming"], ["good, taken for bad"], title="Mistakes").alt
    'A list of 1 text; the first is good, taken for bad: so charming'
    """
    import altair as alt

    if len(texts) != len(heads) or not texts:
        raise ValueError(f"every text must have a head, got {len(texts)} texts and {len(heads)} heads; give both")
    if len(texts) > _TEXTS:
        raise ValueError(f"one picture holds at most {_TEXTS} texts, got {len(texts)}; pass a part of them")
    if len(groups) not in (0, len(texts)):
        raise ValueError(
            f"every text must be in a group, got {len(groups)} groups for {len(texts)} texts; give as many"
        )
    rows, y = [], 0
    for head, text, group in zip(heads, texts, groups or [0] * len(texts), strict=True):
        lines = textwrap.wrap(" ".join(writable(text).split()), _WIDE) or [""]
        if len(lines) > _LINES:
            lines = [*lines[: _LINES - 1], short(" ".join(lines[_LINES - 1 :]), _WIDE)]
        for kind, line in (("head", writable(head)), *(("text", line) for line in lines)):
            rows.append({"y": y, "line": line, "kind": kind, "group": group})
            y += _LINE
        y += _GAP
    base = alt.Chart(alt.NamedData("rows")).encode(y=alt.Y("y:Q", scale=None, axis=None))
    words: dict[str, Any] = dict(align="left", baseline="top", fontSize=12, aria=False)
    written = base.encode(x=alt.value(_INDENT), text="line:N")
    colour = alt.Color(
        "group:O", scale=alt.Scale(domain=list(range(len(CATEGORIES))), range=list(CATEGORIES)), legend=None
    )
    # a mark has the colour, not the words: these must be read on light and on dark ground
    marks = base.mark_square(size=90, opacity=1, yOffset=7, aria=False).encode(x=alt.value(6), color=colour)
    chart = alt.layer(
        marks.transform_filter("datum.kind == 'head'"),
        written.transform_filter("datum.kind == 'head'").mark_text(fontWeight="bold", **words),
        written.transform_filter("datum.kind == 'text'").mark_text(**words),
    ).properties(width=620, height=y)
    count = f"{len(texts)} text{'s' * (len(texts) > 1)}"
    said = f"A list of {count}; the first is {heads[0]}: {short(' '.join(texts[0].split()), 80)}"
    return Picture(chart, title, said, data=rows, caption=caption)


__all__ = ["text_list"]
