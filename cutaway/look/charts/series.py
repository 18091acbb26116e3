r"""Series of a metric over a run, read from the rows of metrics.jsonl; they can be smoothed and thinned.

    m_t = Σ_s γ^|t−s| x_s / Σ_s γ^|t−s|,   γ = 1 − 2/(span + 1)

The smoothed value is a mean over about `span` rows, as many after as before, so that it does not lag a falling loss.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Metrics = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Series:
    """One metric of one split: steps, seconds (NaN where not measured) and values (NaN where there is no number)."""

    split: str
    steps: np.ndarray
    seconds: np.ndarray
    values: np.ndarray

    @property
    def finite(self) -> np.ndarray:
        return np.isfinite(self.values)


def split_name(split: str) -> str:
    """The name of a split in words."""
    return {"train": "training", "validation-whole": "weights kept"}.get(split, split)


def read_series(metrics: Metrics, metric: str) -> list[Series]:
    """The series of a metric, the training split first. Rows without the metric are skipped; null is NaN.

    Evaluations are not timed: their seconds are read off the training rows around their step. That of the weights kept
    stands at the step that these are of (``weights_of``).
    """
    rows = [row for row in metrics if metric in row]
    timed = [(row["step"], row["seconds"]) for row in metrics if _number(row.get("seconds")) == row.get("seconds")]
    clock = dict([(0, 0.0), *timed]) if timed else {}
    splits = sorted(
        {str(row.get("split", "train")) for row in rows}, key=lambda s: (s != "train", s != "validation", s)
    )
    found = []
    for split in splits:
        own = [row for row in rows if row.get("split", "train") == split]
        steps = np.array([row.get("weights_of", row["step"]) for row in own], dtype=float)
        known = sorted(clock)
        seconds = np.interp(steps, known, [clock[s] for s in known]) if clock else np.full(len(own), np.nan)
        found.append(Series(split, steps, seconds, np.array([_number(row[metric]) for row in own])))
    return found


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def smoothed(values: np.ndarray, span: float) -> np.ndarray:
    """The mean over about ``span`` rows around each; what is no number has no weight and no mean.

    >>> smoothed(np.array([1.0, 3.0]), 3).round(4).tolist()  # γ = ½: (1 + ½·3) / (1 + ½), (½·1 + 3) / (½ + 1)
    [1.6667, 2.3333]
    """
    keep = 1 - 2 / (span + 1)
    finite = np.isfinite(values)
    x, one = np.where(finite, values, 0.0), finite.astype(float)
    sums = _decayed(x, keep) + _decayed(x[::-1], keep)[::-1] - x
    counts = _decayed(one, keep) + _decayed(one[::-1], keep)[::-1] - one
    return np.where(finite, sums / np.where(finite, counts, 1.0), np.nan)


def _decayed(values: np.ndarray, keep: float) -> np.ndarray:
    """Σ_s≤t keep^(t−s) x_s for every t."""
    total, totals = 0.0, []
    for x in values.tolist():
        total = keep * total + x
        totals.append(total)
    return np.array(totals)


def thinned(values: np.ndarray, limit: int) -> np.ndarray:
    """Which of many values to draw: the lowest and the highest of each stretch, so that no spike is lost."""
    if len(values) <= limit:
        return np.arange(len(values))
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(len(values)), limit // 2):
        inside = values[stretch]
        if np.isfinite(inside).any():
            finite = np.where(np.isfinite(inside), inside, np.nan)
            kept |= {int(stretch[np.nanargmin(finite)]), int(stretch[np.nanargmax(finite)])}
        else:
            kept.add(int(stretch[0]))
    return np.array(sorted(kept))
