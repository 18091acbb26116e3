r"""Panels of bars side by side, one for each group: the strongest names of each class, and how strong they are."""

from collections.abc import Mapping

from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import short

_PANELS = 24  # in one picture, at most
_COLUMNS = 3


def bar_panels(
    groups: Mapping[str, Mapping[str, float]], *, title: str, value: str, caption: str = "", note: str = ""
) -> Picture:
    """A panel of horizontal bars for every group, in the order given; names may repeat between groups.

    >>> bar_panels({"good": {"charming": 2.0}}, title="Telling words", value="log ratio").alt
    'Panels of bars for 1 group; the strongest of good is charming.'
    """
    import altair as alt

    groups = {name: bars for name, bars in groups.items() if bars}
    if not groups:
        raise ValueError("panels of bars need at least one bar, got none; give {group: {name: number}}")
    if len(groups) > _PANELS:
        raise ValueError(f"one picture holds at most {_PANELS} panels, got {len(groups)}; pass a part of them")
    rows = [
        {"group": short(group, 24), "at": i, "name": short(name, 24), "value": amount}
        for group, bars in groups.items()
        for i, (name, amount) in enumerate(bars.items())
    ]
    panels, wide = [], 140
    most = max(amount for bars in groups.values() for amount in bars.values())
    for group in groups:
        base = (
            alt.Chart(alt.NamedData("rows"))
            .transform_filter(alt.datum.group == short(group, 24))
            .encode(
                x=alt.X("value:Q", title=None, axis=None, scale=alt.Scale(domain=[0, most])),
                y=alt.Y("at:O", title=None, axis=None),
                tooltip=[alt.Tooltip("name:N"), alt.Tooltip("value:Q", title=value, format=".3~g")],
            )
        )
        boxes = base.mark_bar(color=CATEGORIES[0], opacity=0.35, aria=False)
        words = base.mark_text(align="left", dx=3, fontSize=11, aria=False).encode(x=alt.value(0), text="name:N")
        panels.append(alt.layer(boxes, words).properties(width=wide + 60, height=alt.Step(17), title=short(group, 24)))
    chart = alt.concat(*panels, columns=_COLUMNS)
    first = next(iter(groups))
    said = (
        f"Panels of bars for {len(groups)} group{'s' * (len(groups) > 1)}; "
        f"the strongest of {first} is {next(iter(groups[first]))}."
    )
    return Picture(chart, title, said, note, rows, caption=caption)


__all__ = ["bar_panels"]
