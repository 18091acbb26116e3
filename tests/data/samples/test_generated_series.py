"""Generated series: as large as they say, the same each time, with the rhythm that they were made with."""

import numpy as np

from cutaway.data import open_data, read_series
from cutaway.data.samples.embedded import list_samples


def test_samples_have_the_size_that_they_say():
    for sample in list_samples():
        if sample.kind == "series":
            table = open_data(sample.name)
            assert sample.size.startswith(f"{len(table)} series of {table.lengths.max():,} ")
            assert read_series(sample.name).fingerprint.digest == table.fingerprint.digest


def test_sales_are_counts_with_a_week_and_promotions():
    table = read_series("shop-sales", known="promotion,holiday", static="region")
    assert table.is_count
    assert (table.frequency, table.season, table.levels["region"]) == ("D", 7, ("north", "south", "west"))
    x, promotion = table.values[0], table.known[0][:, 0] > 0
    assert x[promotion].mean() > 1.3 * x[~promotion].mean()
    weeks = np.stack([each[:595].reshape(-1, 7).mean(0) / each.mean() for each in table.values]).mean(0)
    assert weeks.argmax() == 5  # Saturday; the series start on a Monday


def test_power_has_a_day():
    table = read_series("city-power")
    assert (table.frequency, table.seasons) == ("h", (24, 168))
    x = table.values[0] - table.values[0].mean()
    assert np.corrcoef(x[24:], x[:-24])[0, 1] > 0.7 > 0 > np.corrcoef(x[12:], x[:-12])[0, 1]
