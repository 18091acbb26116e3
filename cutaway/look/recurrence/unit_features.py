r"""What single units follow: the correlation of each unit's state with features that are marked in the text.

    r = Σ_t (c⁽ᵗ⁾ − c̄)(m⁽ᵗ⁾ − m̄) / √(Σ_t (c⁽ᵗ⁾ − c̄)² Σ_t (m⁽ᵗ⁾ − m̄)²)         unit c, feature m

Some units of a language model of characters count the line, or know that a quotation is open. Many units are tried, so
the best of them correlates a little by chance. Karpathy, Johnson, Fei-Fei 2016.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.grids import MONO
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number, visible

_LETTERS, _WORDS = 100, 50  # tokens that the best unit is drawn over
_LINES = ("feature", "unit")
_CAPTION = "Where a unit's line rises and falls with the feature's, the unit keeps account of it; r near 0: none does."


def mark_features(tokens: Sequence[str]) -> dict[str, np.ndarray]:
    """Features of a text after each of its tokens: inside quotes, characters in the line and word, open brackets.

    >>> {name: x.tolist() for name, x in mark_features(["a", "(", '"', "b", '"', ")"]).items()}["inside brackets"]
    [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    """
    quoted, depth, line, word = False, 0, 0, 0
    rows = []
    for token in tokens:
        for letter in token:
            quoted = not quoted if letter in '"“”' else quoted and letter != "\n"  # a stray quote ends with its line
            depth = max(0, depth + (letter in "([{") - (letter in ")]}"))
            line = 0 if letter == "\n" else line + 1
            word = word + 1 if letter.isalnum() else 0
        rows.append((float(quoted), float(line), float(depth), float(word)))
    names = ("inside quotes", "length of the line", "inside brackets", "length of the word")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def unit_correlations(states: Values, feature: Values) -> np.ndarray:
    """The correlation of every unit of ``states`` (tokens, units) with a feature (tokens); 0 where one is constant."""
    x, y = as_array("states", states, "tokens", "units"), as_array("feature", feature, "tokens")
    x, y = x - x.mean(axis=0), y - y.mean()
    norms = np.sqrt((x * x).sum(axis=0) * (y * y).sum())
    return np.divide(y @ x, norms, out=np.zeros_like(norms), where=norms > 1e-12)


def unit_followers(
    states: Mapping[str, Values], tokens: Sequence[str], *, title: str = "What single units follow"
) -> Picture:
    """For each feature the unit that follows it best, drawn over the text. ``states`` by name, each (tokens, units)."""
    import altair as alt

    features = {name: x for name, x in mark_features(tokens).items() if x.std() > 0}
    if not features:
        raise ValueError("a text must have quotes, lines, brackets or words to follow, got none; pass a longer one")
    letters = all(len(visible(token, 12)) <= 1 for token in tokens)  # of characters, more can stand beside each other
    count = _LETTERS if letters else _WORDS
    panels: list[Any] = []
    data, found = {}, []
    for i, (feature, marks) in enumerate(features.items()):
        best = best_units(states, marks)
        name, unit, r = best[0]
        line = as_array(name, states[name], "tokens", "units")[:, unit]
        first = _stretch(marks, count)
        shown = slice(first, first + count)
        # Both lines on one scale: the unit as the feature's best linear fit.
        fit = marks.mean() + r * marks.std() * (line - line.mean()) / (line.std() or 1.0)
        data[f"panel{i}"] = [
            {"at": t, "token": visible(token, 12), "value": value, "line": which}
            for which, values in zip(_LINES, (marks, fit))
            for t, (token, value) in enumerate(zip(tokens[shown], values[shown].tolist()))
        ]
        words = f"{feature}: unit {unit} of the {name}, r = {number(r, 2)}"
        others = ", ".join(f"{u} of the {n} ({number(s, 2)})" for n, u, s in best[1:])
        found.append(words)
        panels.append(_panel(f"panel{i}", words, f"next best: {others}" if others else "", letters))
    chart = alt.vconcat(*panels, spacing=18)
    units = sum(as_array(name, x, "tokens", "units").shape[1] for name, x in states.items())
    note = (
        f"The best of {units:,} units for each feature, over {len(tokens):,} tokens; a stretch of {count} is drawn. "
        "The unit's line is scaled to fit the feature's."
    )
    alt_text = f"Units that follow features of the text. {'; '.join(found)}."
    return Picture(chart, title, alt_text, note, data, caption=_CAPTION)


def best_units(states: Mapping[str, Values], feature: Values, count: int = 4) -> list[tuple[str, int, float]]:
    """The units that follow a feature best, over all of the states: (name of the states, unit, correlation)."""
    found = []
    for name, values in states.items():
        r = unit_correlations(values, feature)
        found += [(name, int(unit), float(r[unit])) for unit in np.argsort(-np.abs(r), kind="stable")[:count]]
    return sorted(found, key=lambda one: -abs(one[2]))[:count]


def _stretch(marks: np.ndarray, count: int) -> int:
    """Where the drawn stretch begins: the one in which the feature changes most often, so that there is much to see."""
    if len(marks) <= count:
        return 0
    changes = np.concatenate([[0], np.cumsum(np.diff(marks) != 0)])
    if changes[-1] > 0.5 * len(marks):  # it changes all the time: from the beginning
        return 0
    return int((changes[count - 1 :] - changes[: len(marks) - count + 1]).argmax())


def _panel(data: str, title: str, others: str, upright: bool) -> Any:
    import altair as alt

    axis = alt.Axis(labels=False, ticks=False, grid=False, title=None)
    base = alt.Chart(alt.NamedData(data)).encode(x=alt.X("at:Q", axis=axis, scale=alt.Scale(nice=False, padding=3)))
    lines = base.mark_line(interpolate="step-after", aria=False).encode(
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
        color=alt.Color("line:N", title=None, scale=alt.Scale(domain=list(_LINES), range=list(CATEGORIES[:2]))),
        tooltip=[
            alt.Tooltip("token:N"),
            alt.Tooltip("at:Q", title="position"),
            alt.Tooltip("line:N", title="of"),
            alt.Tooltip("value:Q", format=".3~g"),
        ],
    )
    place: dict[str, Any] = dict(baseline="top", dy=4) if upright else dict(angle=270, align="right", dx=-4)
    letters = (
        base.transform_filter(alt.datum.line == _LINES[0])
        .mark_text(font=MONO, fontSize=9, aria=False, **place)
        .encode(y=alt.value("height"), text="token:N")
    )
    words = alt.Title(title, fontSize=11, anchor="start", subtitle=others, subtitleFontSize=10)
    return alt.layer(lines, letters).properties(width=640, height=70, title=words)
