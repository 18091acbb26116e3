"""Windows cut by one gather: what they hold, that a batch follows from seed and step, and covariates."""

import numpy as np
import torch

from cutaway.data.series.series_reading import read_series
from cutaway.data.series.series_table import SeriesTable
from cutaway.models.forecasting.deepar import DeepARSpec
from cutaway.tasks.series.window_batches import (
    WindowBatches,
    covariate_names,
    covariates_of,
    series_tensors,
    static_ids,
    windows_at_end,
)


def table(dates: bool = False) -> SeriesTable:
    """Two series that count up from 100 and 1000."""
    values = {"a": np.arange(50.0) + 100, "b": np.arange(20.0) + 1000}
    return read_series(values, frequency="D", start="2024-01-01") if dates else read_series(values)


def spec_of(series: SeriesTable) -> DeepARSpec:
    return DeepARSpec(lags=(1, 2), context=4, horizon=3, covariates=len(covariate_names(series)))


def test_a_window_holds_the_values_around_its_first_step():
    series = table()
    spec = spec_of(series)
    found = series_tensors(series, spec).windows(torch.tensor([0, 1]), torch.tensor([10, 16]), spec.past, 7)
    assert found.values.shape == (2, spec.past + 7)
    assert found.values[0, -7:].tolist() == [110.0 + i for i in range(7)]
    assert found.values[0, : spec.past - 10].isnan().all()  # before it began
    assert found.values[1, -7:-3].tolist() == [1016.0, 1017.0, 1018.0, 1019.0]
    assert found.values[1, -3:].isnan().all()  # after its end
    assert found.covariates.shape == (2, 7, 1)
    torch.testing.assert_close(found.covariates[0, :, 0], torch.log1p(torch.arange(10.0, 17.0)))


def test_a_batch_follows_from_seed_and_step_and_processes_share_it():
    series = table()
    spec = spec_of(series)
    tensors = series_tensors(series, spec)
    one, again = WindowBatches(tensors, spec, 8, seed=3), WindowBatches(tensors, spec, 8, seed=3)
    next(one)
    assert torch.equal(one.at(5).values.nan_to_num(), again.at(5).values.nan_to_num())
    assert not torch.equal(one.at(5).values.nan_to_num(), again.at(6).values.nan_to_num())
    halves = [WindowBatches(tensors, spec, 8, 3, rank, 2).at(5).values for rank in (0, 1)]
    assert torch.equal(torch.cat(halves).nan_to_num(), one.at(5).values.nan_to_num())


def test_every_series_is_drawn_and_every_first_step_has_a_value_before_it():
    series = table()
    spec = spec_of(series)
    batches = WindowBatches(series_tensors(series, spec), spec, 64)
    drawn = torch.cat([batches.at(i).values for i in range(20)])
    assert not drawn[:, spec.past - 1].isnan().any()
    of_b = (drawn[:, spec.past - 1] >= 1000).double().mean().item()
    assert 0.25 < of_b < 0.55  # half of the rows alike, half by length


def test_windows_at_the_end_go_on_where_series_stop():
    series = table(dates=True)
    spec = spec_of(series)
    found = windows_at_end(series, spec, 5)
    assert found.values[:, -1].tolist() == [149.0, 1019.0]
    assert found.covariates.shape == (2, 4 + 5, spec.covariates)
    whole = covariates_of(series, 0, 46, 55)
    np.testing.assert_allclose(found.covariates[0].numpy(), whole, rtol=1e-5, atol=1e-6)


def test_covariates_have_names_and_calendar_places_turn():
    series = table(dates=True)
    names = covariate_names(series)
    assert names[:3] == ["day of week", "sine of day of week", "cosine of day of week"]
    assert names[-1] == "age"
    assert covariates_of(series, 0, 0, 9).shape == (9, len(names))


def test_series_without_dates_have_no_calendar():
    series = read_series({"a": np.arange(50.0)}, frequency="D")
    assert covariate_names(series) == ["age"]
    assert covariates_of(series, 0, 0, 9).shape == (9, 1)


def test_known_and_static_covariates():
    import pandas as pd

    frame = pd.DataFrame(
        {
            "unique_id": ["a"] * 6 + ["b"] * 6,
            "ds": list(pd.date_range("2024-01-01", periods=6)) * 2,
            "y": [1.0, 2, 3, 4, np.nan, np.nan, 5, 6, 7, 8, np.nan, np.nan],
            "price": [10.0] * 5 + [20.0] + [1.0] * 6,
            "region": ["north"] * 6 + ["south"] * 6,
        }
    )
    series = read_series(frame, known="price", static="region")
    assert "price" in covariate_names(series)
    price = covariate_names(series).index("price")
    end = len(series.values[0])
    assert covariates_of(series, 0, end, end + 2)[:, price].tolist() == [10.0, 20.0]
    assert sorted(static_ids(series)[:, 0].tolist()) == [1, 2]
