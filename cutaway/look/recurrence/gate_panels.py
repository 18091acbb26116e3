r"""Gates and states over time: one panel for each of them, units from the top down, tokens from left to right.

    forget gate f⁽ᵗ⁾ ∈ (0, 1)        near 1: the unit keeps what it holds
    cell state c⁽ᵗ⁾                  what it holds

Of many units those are shown whose state changes most over the text. Hochreiter, Schmidhuber 1997; Karpathy, Johnson,
Fei-Fei 2016. Notes: N3 §5.2.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.grids import MONO
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, visible

UNITS = 16  # shown, at most
_TOKENS = 200
_CROWDED = 70  # from so many on, not every step is named
_WIDE, _UNIT = 640, 6  # pixels of a panel, and of a unit's line

_CAPTIONS = {  # by the gate that keeps a state
    "forget_gate": "Follow a line: where the forget gate is bright the unit keeps its cell state; where it is dark, it "
    "forgets, and the state changes colour.",
    "update_gate": "Follow a line: where the update gate is bright the unit keeps its state; where it is dark, the "
    "state takes the candidate's colour.",
    "": "Follow a line: the unit's state changes colour with what it reads, as no gate keeps it.",
}


def gate_panels(
    values: Mapping[str, Values],
    tokens: Sequence[str],
    *,
    units: Sequence[int] | None = None,
    title: str = "Gates and states over time",
) -> Picture:
    """``values`` by name, each (tokens, units), as a trace shows them; the last is the state that chooses the units."""
    import altair as alt

    arrays = {name: as_array(name, value, "tokens", "units") for name, value in values.items()}
    steps = _steps(arrays, tokens)
    state = list(arrays.values())[-1]
    if units is None:
        units = sorted(np.argsort(-state.std(axis=0), kind="stable")[:UNITS].tolist())
    letters = [visible(token, 12) for token in tokens]
    upright = all(len(letter) <= 1 for letter in letters)
    panels, data = [], {}
    for i, (name, entries) in enumerate(arrays.items()):
        chosen = entries[:, list(units)].T
        shades = Shades.of(chosen)
        if name.endswith("gate"):  # from shut to open, whatever it reaches here
            shades = dataclasses.replace(shades, low=0.0, high=1.0)
        words = name.replace("_", " ")
        numbered = enumerate(zip(units, chosen))
        data[f"panel{i}"] = [{"row": r, "unit": unit, "values": line} for r, (unit, line) in numbered]
        last = i == len(arrays) - 1
        axis = alt.Axis(
            title=None,
            labelExpr="tokens[datum.value]",
            labelAngle=0 if upright else -90,
            labelFontSize=10,
            labelFont=MONO,
            labelOverlap=steps > _CROWDED,
            labels=last,
            ticks=False,
            domain=False,
            grid=False,
        )
        chart = (
            alt.Chart(alt.NamedData(f"panel{i}"))
            .transform_flatten(["values"], ["value"])
            .transform_window(step="row_number()", groupby=["row"])
            .transform_calculate(step="datum.step - 1", token="tokens[datum.step]")
            .mark_rect(aria=False)
            .encode(
                x=alt.X("step:O", axis=axis, scale=alt.Scale(domain=list(range(steps)))),
                y=alt.Y(
                    "row:O",
                    title=words,
                    axis=alt.Axis(labels=False, ticks=False, domain=False, titleAngle=0, titleAlign="right", titleX=-8),
                ),
                color=shades.channel("value", words, 70),
                tooltip=[
                    alt.Tooltip("unit:Q"),
                    alt.Tooltip("token:N"),
                    alt.Tooltip("step:Q", title="position"),
                    alt.Tooltip("value:Q", title=words, format=".3~f"),
                ],
            )
            .properties(width=alt.Step(max(4, min(14, _WIDE // steps))), height=max(60, _UNIT * len(units)))
        )
        panels.append(chart)
    chart = alt.vconcat(*panels, spacing=6).resolve_scale(color="independent")
    chart = chart.add_params(alt.param(name="tokens", value=letters))
    lines = f"{len(units)} of {state.shape[1]} units, those whose {list(arrays)[-1].replace('_', ' ')} changes most"
    means = ", ".join(f"{name.replace('_', ' ')} {number(float(x.mean()), 2)}" for name, x in arrays.items())
    words = f"{len(arrays)} panels over {steps} tokens: {lines}. Means: {means}."
    caption = next(text for gate, text in _CAPTIONS.items() if gate in arrays or not gate)
    return Picture(chart, title, words, f"{lines[0].upper()}{lines[1:]}, a line each.", data, caption=caption)


def _steps(arrays: Mapping[str, np.ndarray], tokens: Sequence[str]) -> int:
    shapes = {name: x.shape for name, x in arrays.items()}
    if not arrays or len(set(shapes.values())) != 1:
        raise ValueError(f"gates must be of one shape (tokens, units), got {shapes or 'none'}; take those of one layer")
    (steps, _) = next(iter(shapes.values()))
    if steps != len(tokens) or not 0 < steps <= _TOKENS:
        raise ValueError(
            f"there must be a token for every step, at most {_TOKENS}, got {len(tokens)} for {steps} steps; "
            "pass a part of the text"
        )
    return steps


def layer_values(seen: Mapping[str, Any], cell: str, names: Sequence[str]) -> dict[str, Any]:
    """Of what a trace saw, the values of one cell, for the first text of the batch."""
    return {name: seen[f"{cell}.{name}"][0] for name in names if f"{cell}.{name}" in seen}
