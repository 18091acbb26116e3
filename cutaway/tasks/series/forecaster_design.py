r"""The design of a forecaster follows from its series: from their frequency, and from their values.

    lags, seasons     of the frequency: a day, a week … (`baselines/autoregression.py`)
    likelihood        negative binomial for small counts that vary enough, else Student's t
    support           the values that series can take (`supports.py`)
    lengths           of histories that the spread of paths is calibrated for (`calibration.py`)

So one configuration serves all data.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cutaway.data.series.series_table import SeriesTable
from cutaway.models.forecasting.running_scales import BURN
from cutaway.tasks.series.baselines.autoregression import own_lags
from cutaway.tasks.series.baselines.simple_methods import choose_own_lags
from cutaway.tasks.series.histories import SeriesParts
from cutaway.tasks.series.prepared_series import prepare, without_freaks
from cutaway.tasks.series.supports import expect_support, find_support
from cutaway.tasks.series.window_batches import covariate_names, typical_unit

_LEAST_CONTEXT = 24  # steps
_SMALL_COUNT = 50.0  # counts of a larger median are as good as real numbers
_DISPERSED = 0.5  # least variance of counts, as a share of their mean, that a negative binomial can have
_LEAST_SEASON = 4  # shorter ones are in sight at once


def forecaster_sizes(settings: Any, parts: SeriesParts) -> dict[str, Any]:
    """What the spec of a forecaster holds, from the settings of `deepar` or `forecaster` and from the series."""
    table, horizon = parts.table, parts.horizon
    seasons = table.seasons
    lags = own_lags(seasons)[-1]
    chosen = choose_own_lags(parts.train, horizon)
    context = settings.context or max(horizon, _LEAST_CONTEXT)
    likelihood = choose_likelihood(settings, parts.train)
    return {
        "lags": lags,
        "seasons": seasons,
        "expert_lags": chosen,
        "context": context,
        "horizon": horizon,
        "likelihood": likelihood,
        "covariates": len(covariate_names(table)),
        "static": tuple(len(table.levels[name]) + 1 for name in table.static if name in table.levels),
        "embedding": settings.embedding,
        "width": settings.width,
        "depth": settings.depth,
        "dropout": settings.dropout,
        "windowed": True,
        "lengths": calibrated_lengths(seasons, context, lags[-1] + BURN + context),
        "typical": typical_unit(prepare(parts.train, likelihood, settings.logarithm).table, lags, chosen),
        "support": choose_support(settings, parts.train),
    }


def choose_likelihood(settings: Any, train: SeriesTable) -> str:
    """The likelihood as asked for, or by the values of the training part."""
    values = np.concatenate(train.values)
    values = values[~np.isnan(values)]
    small = bool(len(values)) and train.is_count and float(np.median(values)) < _SMALL_COUNT
    small = small and _is_dispersed(train)
    if settings.logarithm and settings.likelihood == "negative-binomial":
        raise ValueError("a logarithm is no count, got logarithm=True with a negative-binomial; use student-t")
    if settings.likelihood == "auto":
        return "negative-binomial" if small and not settings.logarithm else "student-t"
    if settings.likelihood == "negative-binomial" and not train.is_count:
        name, wrong = next((n, v[bad][0]) for n, v in zip(train.names, train.values) if (bad := _no_count(v)).any())
        raise ValueError(
            f"a negative binomial is for counts, whole numbers from 0 up, got {wrong:g} in series {name!r}; "
            "use likelihood=student-t"
        )
    if settings.likelihood == "gaussian" and small:
        warnings.warn(
            f"the values of {train.name} are small counts, which a Gaussian fits badly; "
            "likelihood=negative-binomial (or auto) is made for them",
            stacklevel=2,
        )
    return settings.likelihood


def choose_support(settings: Any, train: SeriesTable) -> str:
    """The support as asked for, or by the values of the training part."""
    if settings.support == "auto":
        return find_support(without_freaks(train))
    expect_support(train, settings.support)
    return settings.support


def calibrated_lengths(seasons: Sequence[int], context: int, reads: int) -> tuple[int, ...]:
    """Lengths of histories that paths are calibrated for: where a forecast changes, as a season comes into sight.

    Between them factors follow straight lines, so there is one before the first season, too.

    >>> calibrated_lengths((24, 168), 48, 640), calibrated_lengths((), 24, 100)
    ((4, 12, 26, 50, 170, 320, 640), (4, 26, 50, 100))
    """
    seasonal = {season + 2 for season in seasons if season > _LEAST_SEASON} | {s // 2 for s in seasons[:1] if s > 8}
    return tuple(sorted(n for n in {4, context + 2, reads // 2, reads} | seasonal if n <= reads))


def _is_dispersed(train: SeriesTable) -> bool:
    """Whether counts vary as much as a negative binomial does, which has at least its mean as variance."""
    seen = [values[~np.isnan(values)] for values in train.values]
    ratios = [float(v.var() / v.mean()) for v in seen if len(v) and v.mean() > 0]
    return not ratios or float(np.median(ratios)) >= _DISPERSED


def _no_count(values: Float[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
    """Which values are neither missing nor a whole number from 0 up."""
    return (values < 0) | (values % 1 > 0)
