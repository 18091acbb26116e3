r"""Windows of many series as batches: cut from one long tensor by a single gather.

    values   |— series 0 —|—— series 1 ——|— series 2 —| …        side by side, once
    batch    rows (series, first step) → indices → one gather; NaN before a series begins and after it ends

Half of the rows fall on each series alike, half by length, so that neither short series nor long ones are forgotten.
Constants of a row (scale, unit …) are of what came before its forecast, as they are when it is used; half of the rows
see only a part of the history, so that a forecast from a short history has been practised too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_uniform
from cutaway.data.series.series_table import SeriesTable
from cutaway.models.forecasting.likelihood_model import ForecastSpec
from cutaway.models.forecasting.linear_expert import Coefficients, fit_coefficients, fit_local, window_constants
from cutaway.models.forecasting.series_windows import SeriesWindow
from cutaway.overriding import override
from cutaway.tasks.series.histories import tails

_SHORTENED = 0.5  # share of training rows that see a part of the history alone
_FITTED = 5000  # newest steps that coefficients are fitted to: enough for a dozen
_LEAST = 3  # values of a history that is practised
_WHOLE = 1 << 40  # a history that is not shortened
_TYPICAL = 200  # series that show the typical unit
_AT_ONCE = 64  # series that are fitted side by side


class SeriesTensors(NamedTuple):
    """All series of a table, one after another: ``starts`` says where each begins; they are ``lengths`` long."""

    values: Float[Tensor, "n"]
    covariates: Float[Tensor, "n c"]
    local: Float[Tensor, "s p"]
    static: Int[Tensor, "s k"]
    starts: Int[Tensor, "s"]
    lengths: Int[Tensor, "s"]
    age: int = 0  # which of the covariates is the age of a step

    def windows(self, series: Int[Tensor, "b"], first: Int[Tensor, "b"], past: int, steps: int) -> SeriesWindow:
        """Windows of some series whose first modelled step is ``first``."""
        t = first[:, None] + torch.arange(-past, steps)
        inside = (t >= 0) & (t < self.lengths[series][:, None])
        places = self.starts[series][:, None] + t.clamp(min=0)
        places = places.clamp(max=len(self.values) - 1)
        values = torch.where(inside, self.values[places], torch.nan)
        return SeriesWindow(values, self.local[series], self.covariates[places[:, past:]], self.static[series])


def covariate_names(table: SeriesTable) -> list[str]:
    """What the covariates of a step are: its place in the calendar, its age, and what is known ahead."""
    names = table.calendar_names if table.has_dates else ()
    calendar = [f"{part}{name}" for name in names for part in ("", "sine of ", "cosine of ")]
    numbers = [name for name in table.static if name not in table.levels]
    return [*calendar, "age", *table.known_names, *numbers]


def covariates_of(table: SeriesTable, i: int, start: int, stop: int, oldest: int = 0) -> Float[np.ndarray, "_ c"]:
    """The covariates of some steps of one series; no age is above ``oldest``, if that is above 0."""
    place = table.calendar(i, start, stop).astype(np.float64) if table.has_dates else np.zeros((stop - start, 0))
    calendar = np.stack([place, np.sin(2 * np.pi * place), np.cos(2 * np.pi * place)], -1).reshape(stop - start, -1)
    parts = [calendar, np.log1p(np.clip(np.arange(start, stop), 0, oldest or None))[:, None]]
    if table.known_names:
        known = np.asarray(table.known[i], np.float64)[max(start, 0) : stop]
        filled = np.zeros((stop - start, known.shape[1]))
        filled[max(-start, 0) : max(-start, 0) + len(known)] = np.nan_to_num(known)
        parts.append(filled)
    numbers = [table.static[name][i] for name in table.static if name not in table.levels]
    parts.append(np.tile(np.nan_to_num(np.array(numbers, np.float64)), (stop - start, 1)))
    return np.concatenate(parts, 1)


def static_ids(table: SeriesTable) -> Int[np.ndarray, "s k"]:
    """The id of every category of every series: its code and 1; 0 for one that is not known."""
    columns = []
    for name in table.static:
        if name in table.levels:
            codes = np.nan_to_num(np.asarray(table.static[name], np.float64), nan=-1).astype(np.int64)
            columns.append(np.where((codes >= 0) & (codes < len(table.levels[name])), codes + 1, 0))
    return np.stack(columns, 1) if columns else np.zeros((len(table), 0), np.int64)


def local_constants(values: Sequence[Float[np.ndarray, "_"]], spec: ForecastSpec) -> Float[Tensor, "s p"]:
    """The constants of every series, from its own values."""
    fitted = spec.expert_lags or spec.lags
    if not spec.windowed:
        return torch.stack(
            [fit_local(torch.from_numpy(np.asarray(y, np.float64)), spec.lags, fitted) for y in values]
        ).float()
    parts = []
    for a in range(0, len(values), _AT_ONCE):
        rows = values[a : a + _AT_ONCE]
        longest = min(max(map(len, rows)), _FITTED)
        known = fit_coefficients(torch.from_numpy(tails(rows, longest)), spec.lags, fitted)
        parts.append(window_constants(torch.from_numpy(tails(rows, spec.reads)), spec.lags, known, spec.typical))
    return torch.cat(parts).float()


def typical_unit(table: SeriesTable, lags: Sequence[int], fitted: Sequence[int]) -> float:
    """The median over series of the mean error of their linear expert, in the scale of each."""
    chosen = [values for values in table.values[:: -(-len(table) // _TYPICAL)] if not np.isnan(values).all()]
    units = [fit_local(torch.from_numpy(np.asarray(y, np.float64)), lags, fitted)[3].item() for y in chosen]
    return float(np.median(units)) if units else 0.0


def series_tensors(table: SeriesTable, spec: ForecastSpec) -> SeriesTensors:
    """A table of series as tensors, for training."""
    lengths = table.lengths
    covariates = [covariates_of(table, i, 0, int(n), oldest_age(spec)) for i, n in enumerate(lengths)]
    return SeriesTensors(
        torch.from_numpy(np.concatenate(table.values).astype(np.float32)),
        torch.from_numpy(np.concatenate(covariates).astype(np.float32)),
        local_constants(table.values, spec),
        torch.from_numpy(static_ids(table)),
        torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)),
        torch.from_numpy(lengths.astype(np.int64)),
        covariate_names(table).index("age"),
    )


def oldest_age(spec: ForecastSpec) -> int:
    """The greatest age of a step that a model knows; 0 for any."""
    return spec.reads if spec.windowed else 0


def windows_at_end(table: SeriesTable, spec: ForecastSpec, horizon: int) -> SeriesWindow:
    """The last values of every series, and the covariates of the steps to come: what `sample_paths` takes."""
    values = tails(table.values, spec.reads).astype(np.float32)
    covariates = [
        covariates_of(table, i, len(y) - spec.context, len(y) + horizon, oldest_age(spec))
        for i, y in enumerate(table.values)
    ]
    return SeriesWindow(
        torch.from_numpy(values),
        local_constants(table.values, spec),
        torch.from_numpy(np.stack(covariates).astype(np.float32)),
        torch.from_numpy(static_ids(table)),
    )


class WindowBatches(Batches[SeriesWindow]):
    """Windows of context and horizon from random places of random series, drawn anew for every batch."""

    def __init__(
        self, tensors: SeriesTensors, spec: ForecastSpec, batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.tensors, self.spec, self.past, self.steps = tensors, spec, spec.past, spec.context + spec.horizon
        # The first modelled step has a value before it; a window of a short series ends after it.
        self.places = (tensors.lengths - self.steps).clamp(min=1).numpy()
        usable = (tensors.lengths > 1).numpy()
        if not usable.any():
            raise ValueError("a series to train on must have at least two values, got none that has; use longer ones")
        weights = usable * (0.5 * self.places / (self.places * usable).sum() + 0.5 / usable.sum())
        self.bounds = np.cumsum(weights) / weights.sum()

    @override
    def at(self, step: int) -> SeriesWindow:
        u, v = draw_uniform(self.seed, "series", step, 2 * self.batch).reshape(2, -1)
        series = np.minimum(np.searchsorted(self.bounds, u, side="right"), len(self.bounds) - 1)
        first = 1 + (v * self.places[series]).astype(np.int64)
        chosen = torch.from_numpy(self.share(series)), torch.from_numpy(self.share(first))
        window = self.tensors.windows(*chosen, self.past, self.steps)
        if not self.spec.windowed:
            return window
        u, v = draw_uniform(self.seed, "history", step, 2 * self.batch).reshape(2, -1)
        least, most = np.log(_LEAST), np.log(self.spec.reads)
        lengths = np.where(u < _SHORTENED, np.exp(least + v * (most - least)).astype(np.int64), _WHOLE)
        return self._as_used(window, *chosen, torch.from_numpy(self.share(lengths)))

    def _as_used(
        self, window: SeriesWindow, series: Int[Tensor, "b"], first: Int[Tensor, "b"], lengths: Int[Tensor, "b"]
    ) -> SeriesWindow:
        """The rows as they are when the model is used: ``lengths`` of history, and constants of that."""
        spec, reads = self.spec, self.spec.reads
        short = lengths < reads
        hidden = torch.arange(window.values.shape[1]) < (reads - lengths)[:, None]
        values = window.values.masked_fill(hidden, torch.nan)
        before = values[:, :reads].double()
        whole = self.tensors.local[series].double()
        known = Coefficients(whole[:, 6], whole[:, 7:], whole[:, 4] * whole[:, 0], whole[:, 5] * whole[:, 0])
        if short.any():
            own = fit_coefficients(before, spec.lags, spec.expert_lags or spec.lags)
            known = own.where(short, known)
        begin = torch.where(short, first + spec.context - lengths, 0)
        age = (first - begin)[:, None] + torch.arange(self.steps)
        covariates = window.covariates.clone()
        covariates[..., self.tensors.age] = torch.log1p(age.clamp(0, reads).to(covariates.dtype))
        local = window_constants(before, spec.lags, known, spec.typical).float()
        return SeriesWindow(values, local, covariates, window.static)


__all__ = [
    "SeriesTensors",
    "WindowBatches",
    "covariate_names",
    "covariates_of",
    "local_constants",
    "series_tensors",
    "static_ids",
    "typical_unit",
    "windows_at_end",
]
