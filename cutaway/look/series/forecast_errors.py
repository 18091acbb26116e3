r"""How good forecasts are: by the step of the horizon, beside simple methods, and whether they are calibrated.

PIT: u = F(y), where the truth lies in its forecast. A calibrated forecast has u even from 0 to 1: a hump in the middle
means too wide, a U too narrow, a slope too high or too low. Dawid 1984; Gneiting, Balabdaoui, Raftery 2007.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES

_BINS = 10


def errors_by_horizon(losses: Mapping[str, Float[np.ndarray, "horizon"]], *, title: str, unit: str) -> Picture:
    """The error of each step of the horizon, a line for each method; the first is the model's and drawn strong."""
    import altair as alt

    names = list(losses)
    rows = [
        {"method": name, "step": step + 1, "error": float(value)}
        for name, line in losses.items()
        for step, value in enumerate(line)
    ]
    order = (1, 0, 2, 3, 4, 5)  # the model in orange, as in the other pictures
    colours = [CATEGORIES[order[i % len(order)]] for i in range(len(names))]
    lines = alt.Chart(alt.NamedData("rows"))
    strong = f"datum.method == '{names[0]}'"
    encoded = [
        part.mark_line(strokeWidth=width, aria=False)
        for part, width in ((lines, 1.5), (lines.transform_filter(strong), 3.5))
    ]
    chart = (
        alt.layer(*encoded)
        .encode(
            x=alt.X("step:Q", title="steps ahead", axis=alt.Axis(grid=False), scale=alt.Scale(nice=False)),
            y=alt.Y("error:Q", title=unit, scale=alt.Scale(zero=True)),
            color=alt.Color("method:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            tooltip=["method:N", "step:Q", alt.Tooltip("error:Q", format=".4~g")],
        )
        .properties(width=520, height=220)
    )
    first = losses[names[0]]
    alt_text = (
        f"Lines of {len(names)} methods over {len(first)} steps ahead; {names[0]} goes from {first[0]:.3g} to "
        f"{first[-1]:.3g}."
    )
    caption = "Errors grow with the distance: where lines meet, the model knows no more than the simple method."
    return Picture(chart, title, alt_text, "", rows, caption=caption)


def calibration(ranks: Float[np.ndarray, "*n"], *, title: str = "Where the truth lies in its forecast") -> Picture:
    """A histogram of PIT values: even if the forecast is calibrated."""
    import altair as alt

    u = np.ravel(ranks)
    u = u[~np.isnan(u)]
    if not len(u):
        raise ValueError("a picture of calibration needs values that came, got none; use windows with a truth")
    counts, edges = np.histogram(np.clip(u, 0, 1), bins=_BINS, range=(0, 1))
    shares = counts / len(u)
    rows = [{"low": float(a), "high": float(b), "share": float(s)} for a, b, s in zip(edges[:-1], edges[1:], shares)]
    bars = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar(color=CATEGORIES[0], aria=False)
        .encode(
            x=alt.X("low:Q", title="place of the truth in its forecast (PIT)", scale=alt.Scale(domain=[0, 1])),
            x2="high:Q",
            y2=alt.datum(0),
            y=alt.Y("share:Q", title="share of values", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
            tooltip=[alt.Tooltip("low:Q"), alt.Tooltip("high:Q"), alt.Tooltip("share:Q", format=".1%")],
        )
    )
    even = (
        alt.Chart(alt.NamedData("even")).mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color="#767676").encode(y="at:Q")
    )
    chart = alt.layer(bars, even).properties(width=420, height=200)
    inside = float(((u >= 0.1) & (u <= 0.9)).mean())
    note = f"The 80 % interval holds {inside:.0%} of {len(u):,} values. Dashed: a calibrated forecast."
    alt_text = f"Histogram of {len(u):,} PIT values in {_BINS} bins, from {shares.min():.0%} to {shares.max():.0%}."
    caption = "A hump in the middle means that the bands are too wide, high ends that they are too narrow."
    data = {"rows": rows, "even": [{"at": 1 / _BINS}]}
    return Picture(chart, title, alt_text, note, data, caption=caption)


def method_bars(losses: Mapping[str, float], *, title: str, unit: str) -> Picture:
    """The loss of every method, the best first; the model, which is named first, in another colour."""
    import altair as alt

    model = next(iter(losses))
    order = sorted(losses, key=losses.__getitem__)
    rows = [{"method": name, "loss": float(losses[name]), "is_model": name == model} for name in order]
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("loss:Q", title=unit, axis=alt.Axis(tickCount=5)),
        y=alt.Y("method:N", title=None, sort=order, axis=alt.Axis(labelLimit=220, ticks=False, domain=False)),
    )
    colour = alt.condition("datum.is_model", alt.value(CATEGORIES[1]), alt.value(CATEGORIES[0]))
    chart = alt.layer(
        base.mark_bar(aria=False).encode(color=colour),
        base.mark_text(align="left", dx=4, fontSize=11, aria=False).encode(text=alt.Text("loss:Q", format=".4~f")),
    ).properties(width=400, height=alt.Step(26))
    place = order.index(model)
    others = [name for name in order if name != model]
    ratio = losses[model] / max(losses[others[0]], 1e-300) if others else 1.0
    caption = (
        f"The model is {1 - ratio:.0%} better than the best simple method, {others[0]}."
        if others and ratio < 1
        else f"The best simple method, {others[0]}, is better than the model: use it, or train longer."
        if others
        else "The model alone."
    )
    alt_text = f"Bars of {len(rows)} losses; the model comes in place {place + 1} with {losses[model]:.4g}."
    return Picture(chart, title, alt_text, "Less is better.", rows, caption=caption)


__all__ = ["calibration", "errors_by_horizon", "method_bars"]
