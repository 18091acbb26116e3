r"""How many images keep their class as the size of a change grows, one curve for each kind of change."""

from collections.abc import Mapping, Sequence

from cutaway.look.pages.picture import Picture


def resistance_curves(
    sizes: Sequence[float], shares: Mapping[str, Sequence[float]], *, title: str, caption: str = "", note: str = ""
) -> Picture:
    """``shares`` of right answers at every one of ``sizes``, by the name of the change."""
    import altair as alt

    for name, values in shares.items():
        if len(values) != len(sizes):
            raise ValueError(f"shares must be one for each of {len(sizes)} sizes, got {len(values)} of {name!r}")
    rows = [
        {"size": size, "share": share, "change": name}
        for name, values in shares.items()
        for size, share in zip(sizes, values, strict=True)
    ]
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title="the most that a pixel moves (0 to 1)"),
            y=alt.Y("share:Q", title="right answers", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("change:N", title=None, sort=list(shares)),
            tooltip=["change:N", alt.Tooltip("size:Q", format=".3f"), alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(height=240, width=420)
    )
    ends = ", ".join(f"{name} {values[-1]:.0%}" for name, values in shares.items())
    told = f"Line chart: right answers as changes grow from {sizes[0]:g} to {sizes[-1]:g}; at the end: {ends}."
    return Picture(chart, title, told, note, rows, caption=caption, fills=True)


__all__ = ["resistance_curves"]
