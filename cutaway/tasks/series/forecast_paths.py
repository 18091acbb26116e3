r"""A forecast: paths that series may take from where they end, and what these say of each step.

forecast = run.forecast(horizon=12)
forecast.quantiles["airline"][0.9]      the .9-quantile of every step
forecast.paths["airline"]               (samples, steps): whole paths, for questions about several steps at once
forecast.to_pandas()                    unique_id, ds, mean, 0.1, 0.5, 0.9
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from cutaway.data.series.series_table import SeriesTable
from cutaway.extras import need
from cutaway.overriding import override
from cutaway.tasks.series.supports import path_quantiles

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Forecast:
    """Forecasts of some series, each by its name. ``history`` is what they go on from; ``whole``: which are counts."""

    history: SeriesTable
    drawn: Float[np.ndarray, "series samples steps"]
    levels: tuple[float, ...] = (0.1, 0.5, 0.9)
    whole: Bool[np.ndarray, "series"] | None = None

    def __len__(self) -> int:
        return len(self.history)

    def __iter__(self) -> Iterator[str]:
        return iter(self.history.names)

    @property
    def horizon(self) -> int:
        """How many steps are forecast."""
        return self.drawn.shape[-1]

    @cached_property
    def paths(self) -> dict[str, Float[np.ndarray, "samples steps"]]:
        """The paths of each series."""
        return dict(zip(self.history.names, self.drawn))

    @cached_property
    def mean(self) -> dict[str, Float[np.ndarray, "steps"]]:
        """The mean of the paths of each series, step by step."""
        return dict(zip(self.history.names, self.drawn.mean(1)))

    def quantile(self, levels: Sequence[float]) -> Float[np.ndarray, "series steps levels"]:
        """Quantiles of every step at any levels; of counts, whole numbers."""
        return path_quantiles(self.drawn, expect_levels(levels), self.whole)

    @cached_property
    def quantiles(self) -> "dict[str, pandas.DataFrame]":
        """The quantiles of each series: a table with a row for each step and a column for each level."""
        pd = need("pandas", "series", "a table of quantiles")
        found = self.quantile(self.levels)
        return {
            name: pd.DataFrame(found[i], index=self.times(i), columns=list(self.levels))
            for i, name in enumerate(self.history.names)
        }

    def times(self, i: int) -> Any:
        """When the forecast steps of series number ``i`` lie: dates, or whole numbers."""
        end = len(self.history.values[i])
        return self.history.zoned_times(i, end, end + self.horizon)

    def clock_times(self, i: int) -> Any:
        """As `times`, as clocks there show them."""
        end = len(self.history.values[i])
        return self.history.clock_times(i, end, end + self.horizon)

    def only(self, names: Sequence[str]) -> "Forecast":
        """The forecasts of some series, by their names."""
        from cutaway.data.checks import nearest

        known = {name: i for i, name in enumerate(self.history.names)}
        for name in names:
            if name not in known:
                raise ValueError(
                    f"a series must be one of the {len(known):,} that are forecast, got {name!r}; the nearest are: "
                    f"{nearest(name, known)}"
                )
        chosen = [known[name] for name in names]
        whole = None if self.whole is None else self.whole[chosen]
        return Forecast(self.history.select(chosen), self.drawn[chosen], self.levels, whole)

    def to_pandas(self) -> "pandas.DataFrame":
        """The long table: unique_id, ds, the mean, and a column for each level, called as it is written: 0.1."""
        pd = need("pandas", "series", "a table of forecasts")
        found, mean = self.quantile(self.levels), self.drawn.mean(1)
        parts = [
            pd.DataFrame(
                {"unique_id": name, "ds": self.times(i), "mean": mean[i]}
                | {f"{level:g}": found[i, :, j] for j, level in enumerate(self.levels)}
            )
            for i, name in enumerate(self.history.names)
        ]
        return pd.concat(parts, ignore_index=True)

    @override
    def __repr__(self) -> str:
        samples, steps = self.drawn.shape[1:]
        levels = ", ".join(f"{level:g}" for level in self.levels)
        return f"Forecast({len(self):,} series, {steps} steps, {samples} paths each; quantiles {levels})"


def expect_levels(levels: Sequence[float] | float) -> list[float]:
    """Levels of quantiles must lie between 0 and 1."""
    if isinstance(levels, (int, float)):
        levels = [levels]
    found = [float(level) for level in levels]
    wrong = [level for level in found if not 0 < level < 1]
    if wrong or not found:
        came = f"{wrong[0]:g}" if wrong else "none"
        raise ValueError(f"quantiles must lie between 0 and 1, got {came}; try quantiles=(0.1, 0.5, 0.9)")
    return found


def expect_count(name: str, value: Any, usual: int) -> int:
    """A number of steps or samples must be a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number above 0, got {value!r}; try {name}={usual}")
    return int(value)


__all__ = ["Forecast", "expect_count", "expect_levels"]
