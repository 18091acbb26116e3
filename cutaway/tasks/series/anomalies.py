r"""The task of finding odd points and stretches of series: from surprises to alarms, and how right the alarms are.

    surprise      −log P(as far from the middle or further) of every step, by a learner (`density_learner.py`)
    alarm         above a threshold that false alarms a year set (`alarms.py`)
    metrics       precision, recall and F1 of errors that are put into the held-out part, alarms a year without any
    baseline      a z-score: how far a value is from the mean, in standard deviations

Real series have odd points of their own, which count as false alarms here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.series.series_table import SeriesTable
from cutaway.extras import need
from cutaway.overriding import override
from cutaway.tasks.series.alarms import (
    LOUD,
    POINT,
    QUIET,
    Rule,
    Stretch,
    explained,
    inject,
    merged,
    score_alarms,
    stretch_scores,
    threshold,
)
from cutaway.tasks.series.density_inputs import Scale, scale_of
from cutaway.tasks.series.forecast import SeriesForecasts
from cutaway.tasks.series.histories import SeriesParts

if TYPE_CHECKING:
    import pandas

_VALIDATION, _TEST = 0.1, 0.2  # shares of every series
_LONGEST_HORIZON = 48
_LATE = 2  # steps after its end in which an error may still be noticed
_APART = 1000  # steps between two series, so that no stretch reaches into the next one
_COLUMNS = ("unique_id", "start", "end", "steps", "value", "expected", "probability", "why")

Scores = Float[np.ndarray, "_"]  # of every step of a series
Scorer = Callable[[SeriesTable], list[Scores]]


class Detection(NamedTuple):
    """The surprise of every step of a series, what was expected, and the stretches that raised an alarm."""

    name: str
    scores: Scores
    expected: Float[np.ndarray, "_"]
    stretches: list[Stretch]


class SeriesAnomalies(SeriesForecasts):
    """Series of which the odd stretches are asked for."""

    kind: ClassVar[str] = "series/anomalies"
    figure = "loss"

    @override
    def horizon_for(self, table: SeriesTable) -> int:
        return self.settings.horizon or max(min(table.season, _LONGEST_HORIZON), 2)

    @override
    def read_parts(self) -> SeriesParts:
        """The series in three parts, by shares of the shortest, unless windows are asked for."""
        table, settings = self.table, self.settings
        horizon = self.horizon_for(table)
        kept = table.longer_than(max(10 * horizon, 50))[0]
        if not len(kept):
            raise ValueError(
                f"odd points need a history to stand out from, at least {max(10 * horizon, 50) + 1:,} values, got "
                f"series of at most {int(table.lengths.max()):,} in {table.name}; give longer ones"
            )
        room = int(kept.lengths.min()) // horizon
        validation, test = (
            asked or max(int(room * share), 1)
            for asked, share in ((settings.validation, _VALIDATION), (settings.windows, _TEST))
        )
        return SeriesParts(kept, horizon, validation, test).before_outage()

    @cached_property
    def scales(self) -> list[Scale]:
        """The middle and the spread of each series in training."""
        if self.run is not None:
            return [Scale(*pair) for pair in self.run.about["data"]["scales"]]
        return [scale_of(values) for values in self.parts.train.values]

    def scales_for(self, table: SeriesTable) -> list[Scale]:
        """Those of training for series of the same name; new series have their own."""
        known = dict(zip(self.parts.table.names, self.scales, strict=True))
        return [known.get(name) or scale_of(values) for name, values in zip(table.names, table.values, strict=True)]

    @override
    def facts(self) -> dict[str, Any]:
        """The summary of the series, their scales, and the z-score on the validation part."""
        return self.facts_of_series() | {
            "scales": [list(scale) for scale in self.scales],
            "names": self.parts.train.names,
            "baselines": {"z-score": self.z_score()},
        }

    # Alarms.

    def detect(self, scores: Scores, usual: Scores, table: SeriesTable) -> list[Stretch]:
        """The stretches of one series with surprises above the thresholds that ``usual`` ones set."""
        window = _window(table)
        probability = min(self.settings.alarms_per_year / _steps_a_year(table) / 3, 0.3)  # a third for each rule
        long, usual_long = stretch_scores(scores, window), stretch_scores(usual, window)
        kinds = ((POINT, scores, usual), (LOUD, long, usual_long), (QUIET, -np.log(long), -np.log(usual_long)))
        rules = [
            Rule(why, np.nan_to_num(own, nan=-np.inf) > threshold(common, probability), own, common)
            for why, own, common in kinds
        ]
        alarms = np.logical_or.reduce([rule.alarms for rule in rules])
        return [explained(stretch, rules) for stretch in merged(alarms, scores, window)]

    def stretch_table(self, table: SeriesTable, detections: Sequence[Detection]) -> "pandas.DataFrame":
        """Odd stretches: when they begin and end, the oddest value, the expected one, how unlikely, why."""
        pd = need("pandas", "series", "a table of odd stretches")
        rows = []
        for i, one in enumerate(detections):
            for stretch in one.stretches:
                times = table.zoned_times(i, stretch.start, stretch.stop)
                steps, peak = stretch.stop - stretch.start, stretch.peak
                value, expected = table.values[i][peak], one.expected[peak]
                rows.append((one.name, times[0], times[-1], steps, value, expected, stretch.probability, stretch.why))
        return pd.DataFrame([dict(zip(_COLUMNS, row, strict=True)) for row in rows], columns=list(_COLUMNS))

    # Metrics.

    def z_score(self, test: bool = False) -> dict[str, Any]:
        """The naive rule: how far a value is from the mean, in standard deviations; rule and metrics."""
        means = [(float(np.nanmean(v)), float(np.nanstd(v)) or 1.0) for v in self.parts.train.values]

        def scorer(table: SeriesTable) -> list[Scores]:
            return [np.abs(v - mean) / std for v, (mean, std) in zip(table.values, means)]

        rule = "values too many standard deviations from the mean, with as many false alarms a year"
        return {"rule": rule, "metrics": self.alarm_metrics(scorer, test)}

    def alarm_metrics(self, scorer: Scorer, test: bool = False) -> dict[str, float]:
        """Alarms a year where nothing was changed, and precision, recall and F1 for errors put into the held-out part.

        ``scorer`` gives every step of every series of a table its surprise.
        """
        parts = self.parts
        usual_part, whole = (parts.before_test, parts.table) if test else (parts.train, parts.before_test)
        starts = usual_part.lengths.tolist()
        injected = [
            inject(values[start:], whole.season, self.settings.seed + i, min(max((len(values) - start) // 4, 20), 250))
            for i, (values, start) in enumerate(zip(whole.values, starts))
        ]
        spoilt = replace(
            whole, values=[np.concatenate([v[:s], one.values]) for v, s, one in zip(whole.values, starts, injected)]
        )
        usual, plain, odd = np.concatenate(scorer(usual_part)), scorer(whole), scorer(spoilt)
        alarms = steps = offset = 0
        raised: list[Stretch] = []
        events: list[Stretch] = []
        for i, start in enumerate(starts):
            length = len(whole.values[i])
            alarms += sum(one.stop > start for one in self.detect(plain[i], usual, whole))
            steps += length - start
            here = [one for one in self.detect(odd[i], usual, whole) if one.stop > start]
            raised += [_shifted(one, offset - start) for one in here]
            events += [_shifted(event, offset) for event in injected[i].events]
            offset += length - start + _APART
        found = score_alarms(raised, events, _LATE + _window(whole))
        return found | {"alarms_per_year": alarms * _steps_a_year(whole) / max(steps, 1)}

    @override
    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the z-score."""
        naive = self.z_score(test=True)["metrics"]
        own = self.alarm_metrics(lambda table: learner.scores(learner.model, table, self.scales), test=True)
        return own | {f"baseline_{name}": value for name, value in naive.items()}


def _window(table: SeriesTable) -> int:
    """The steps of a stretch."""
    return max(min(table.season // 2, 24), 4)


def _steps_a_year(table: SeriesTable) -> float:
    return table.grid.steps_a_year if table.grid is not None else 365.0


def _shifted(stretch: Stretch, by: int) -> Stretch:
    return Stretch(stretch.start + by, stretch.stop + by, stretch.peak + by)
