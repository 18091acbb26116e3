r"""From surprises to alarms: a threshold that is stated as false alarms a year, and stretches of alarms.

    u_t = −log P(as far from the middle or further)       surprise of a point: about Exp(1) while all is usual
    ū_t = mean of u over the last w steps                  surprise of a stretch
    alarm: u_t > z,  ū_t > z̄,  or −log ū_t > z̲ (too quiet: a stuck sensor)

    z = t + β log(N_t / (n q))       q = alarms a year / steps a year; N_t of n usual scores exceed t, by β in the mean

The tail of the scores above their .98-quantile t is taken as exponential (peaks over threshold; Siffer et al. 2017,
with shape 0), since a few alarms a year are rarer than anything in the data. Alarms near each other are one stretch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

_START = 0.98  # quantile of the scores from which on their tail is fitted


POINT, LOUD, QUIET = "an unlikely value", "many values a little unlikely", "too quiet: values closer than usual"


class Stretch(NamedTuple):
    """Steps from ``start`` to before ``stop`` that are odd, and where they are most so.

    ``why`` says which rule raised the alarm, ``probability`` how often that rule finds as much while all is usual.
    """

    start: int
    stop: int
    peak: int
    why: str = POINT
    probability: float = float("nan")


def threshold(scores: Float[np.ndarray, "n"], probability: float) -> float:
    """The score that a usual step exceeds with this probability."""
    found = scores[~np.isnan(scores)]
    t = float(np.quantile(found, _START))
    over = found[found > t] - t
    if not len(over):
        return t
    share = len(over) / len(found)
    if probability >= share:
        return float(np.quantile(found, 1 - probability))
    return t + float(over.mean()) * float(np.log(share / probability))


def exceedance(scores: Float[np.ndarray, "n"], value: float) -> float:
    """How often a usual step has a score above a value: the inverse of `threshold`."""
    found = scores[~np.isnan(scores)]
    t = float(np.quantile(found, _START))
    over = found[found > t] - t
    if value <= t or not len(over):
        return max(float((found >= value).mean()), 0.5 / len(found))
    return len(over) / len(found) * float(np.exp(-(value - t) / over.mean()))


def explained(stretch: Stretch, rules: "Sequence[Rule]") -> Stretch:
    """A stretch with the rules that raised it, the first of them for its peak, and the least probability of them."""
    inside = slice(stretch.start, stretch.stop)
    raised = [rule for rule in rules if rule.alarms[inside].any()]
    if not raised:
        return stretch
    peaks = [stretch.start + int(np.nan_to_num(rule.scores[inside], nan=-np.inf).argmax()) for rule in raised]
    found = [exceedance(rule.usual, rule.scores[peak]) for rule, peak in zip(raised, peaks, strict=True)]
    return Stretch(stretch.start, stretch.stop, peaks[0], "; ".join(rule.why for rule in raised), min(found))


class Rule(NamedTuple):
    """One rule: where it raised alarms, its scores of every step, and those of usual steps."""

    why: str
    alarms: Bool[np.ndarray, "n"]
    scores: Float[np.ndarray, "n"]
    usual: Float[np.ndarray, "m"]


def stretch_scores(scores: Float[np.ndarray, "n"], window: int) -> Float[np.ndarray, "n"]:
    """The mean score of the last ``window`` steps; missing ones count as usual ones, which score 1."""
    u = np.where(np.isnan(scores), 1.0, scores)
    sums = np.cumsum(np.concatenate([np.ones(window), u]))
    return np.maximum((sums[window:] - sums[:-window]) / window, 1e-9)


def merged(alarms: Bool[np.ndarray, "n"], scores: Float[np.ndarray, "n"], gap: int) -> list[Stretch]:
    """Alarms as stretches: those at most ``gap`` steps apart are one.

    >>> [found[:3] for found in merged(np.array([0, 1, 0, 1, 0, 0, 0, 1], bool), np.arange(8.0), gap=2)]
    [(1, 4, 3), (7, 8, 7)]
    """
    found: list[Stretch] = []
    for at in np.flatnonzero(alarms):
        if found and at - found[-1].stop < gap:
            last = found.pop()
            peak = int(at) if np.nan_to_num(scores[at]) > np.nan_to_num(scores[last.peak]) else last.peak
            found.append(Stretch(last.start, int(at) + 1, peak))
        else:
            found.append(Stretch(int(at), int(at) + 1, int(at)))
    return found


class Injected(NamedTuple):
    """A series with errors put into it, and where they are."""

    values: Float[np.ndarray, "n"]
    events: list[Stretch]


def inject(values: Float[np.ndarray, "n"], season: int, seed: int = 0, every: int = 250) -> Injected:
    """A copy with an error about every ``every`` steps: in turn a spike, a shift of level, a stuck sensor.

    A spike is 1.5 to 3 times the change of one step that one in a thousand exceeds; a shift moves half a season by 1 to
    2 times the change over a season that one in a hundred exceeds; a stuck sensor repeats its value for a season.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    x, events = values.copy(), []
    season = max(season, 2)
    if len(values) <= season or np.isnan(np.diff(values)).all():  # an outage: nothing to put errors into
        return Injected(x, [])
    change = float(np.nanquantile(np.abs(np.diff(values)), 0.999)) or 1.0
    apart = np.abs(values[season:] - values[:-season])
    shift = change if np.isnan(apart).all() else float(np.nanquantile(apart, 0.99)) or change
    length = max(min(season // 2, every // 10), 4)
    for k, at in enumerate(range(every // 2, len(x) - 2 * length - every // 5, every)):
        at += int(rng.integers(-every // 5, every // 5 + 1))
        sign = rng.choice((-1.0, 1.0))
        if k % 3 == 0:
            x[at] += sign * rng.uniform(1.5, 3) * change
            stop = at + 1
        elif k % 3 == 1:
            stop = at + length
            x[at:stop] += sign * rng.uniform(1, 2) * shift
        else:
            stop = at + 2 * length
            x[at:stop] = x[at]
        events.append(Stretch(at, stop, at))
    return Injected(x, events)


def score_alarms(found: Sequence[Stretch], events: Sequence[Stretch], late: int) -> dict[str, float]:
    """Precision, recall and F1 of stretches: an event is found if one overlaps it or follows within ``late`` steps.

    Without events there is nothing to say.
    """
    if not events:
        return {}
    hits = [any(one.start < event.stop + late and one.stop > event.start for one in found) for event in events]
    right = [any(one.start < event.stop + late and one.stop > event.start for event in events) for one in found]
    recall = sum(hits) / len(hits)
    precision = sum(right) / len(right) if right else 1.0
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
    }


__all__ = [
    "LOUD",
    "POINT",
    "QUIET",
    "Injected",
    "Rule",
    "Stretch",
    "exceedance",
    "explained",
    "inject",
    "merged",
    "score_alarms",
    "stretch_scores",
    "threshold",
]
