r"""Several scores of several settings: a row for each setting, a panel of bars for each score, on its own scale."""

from collections.abc import Mapping

from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number, short

_PANEL = 118  # pixels across


def score_panels(
    scores: Mapping[str, Mapping[str, float]],
    *,
    goals: Mapping[str, float] | None = None,
    chosen: str = "",
    title: str,
    caption: str = "",
    note: str = "",
) -> Picture:
    """Bars of scores by setting; a line stands where the ``goals`` are, and the ``chosen`` setting is darker.

    >>> score_panels({"5 steps": {"distance": 3.0}, "25 steps": {"distance": 1.5}}, title="Samples").alt
    'Bars of 1 score for 2 settings: distance 3 and 1.5.'
    """
    import altair as alt

    if not scores or not all(scores.values()):
        raise ValueError(
            "panels of scores need at least one score of one setting, got none; give {setting: {score: …}}"
        )
    measures = list(dict.fromkeys(measure for found in scores.values() for measure in found))
    names = [short(name, 32) for name in scores]
    rows = [
        {
            "setting": name,
            "score": measure,
            "value": found[measure],
            "shown": number(found[measure], 3),
            "own": key == chosen,
        }
        for name, (key, found) in zip(names, scores.items())
        for measure in measures
        if measure in found
    ]
    goals = goals or {}
    panels = []
    for place, measure in enumerate(measures):
        most = max([*(found[measure] for found in scores.values() if measure in found), goals.get(measure, 0.0)]) or 1.0
        axis = alt.Axis(labelLimit=220, ticks=False, domain=False) if place == 0 else None
        base = (
            alt.Chart(alt.NamedData("rows"))
            .transform_filter(alt.datum.score == measure)
            .encode(
                x=alt.X("value:Q", title=None, axis=None, scale=alt.Scale(domain=[0, 1.4 * most], nice=False)),
                y=alt.Y("setting:N", title=None, sort=names, axis=axis),
                tooltip=["setting:N", alt.Tooltip("value:Q", title=measure, format=".3~g")],
            )
        )
        bars = base.mark_bar(color=CATEGORIES[0], aria=False).encode(
            opacity=alt.condition("datum.own", alt.value(0.85), alt.value(0.4))
        )
        words = base.mark_text(align="right", fontSize=11, aria=False).encode(x=alt.value(_PANEL), text="shown:N")
        layers = [bars, words]
        if measure in goals:
            line = alt.Chart(alt.NamedData("rows")).transform_filter(alt.datum.score == measure)
            layers.append(
                line.mark_rule(color=CATEGORIES[1], strokeDash=[4, 3], size=1.5, aria=False).encode(
                    x=alt.datum(goals[measure])
                )
            )
        panels.append(alt.layer(*layers).properties(width=_PANEL, height=alt.Step(20), title=short(measure, 20)))
    chart = alt.hconcat(*panels, spacing=14)
    said = "; ".join(
        f"{measure} " + " and ".join(number(found[measure], 3) for found in scores.values() if measure in found)
        for measure in measures
    )
    many = f"{len(measures)} score{'s' * (len(measures) > 1)} for {len(scores)} setting{'s' * (len(scores) > 1)}"
    return Picture(chart, title, f"Bars of {many}: {said}.", note, rows, caption=caption)


__all__ = ["score_panels"]
