r"""Sample series to forecast, made here: daily sales of shops, and the hourly power of cities.

    sales  ~ counts with mean  level · growth^t · week(t) · year(t) · (1 + 0.6 promotion) · (0.3 on holidays)
             and variance λ + 0.05 λ²: whole numbers, some of them small
    power  = level · (1 + day(t) + week(t)) + e_t,   e_t = 0.9 e_{t−1} + noise

Every number is a function of a fixed seed, so that the samples are the same everywhere.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cutaway.data.seeded_draws import draw_uniform
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

SHOPS, DAYS = 24, 600
CITIES, HOURS = 8, 1344  # eight weeks
_HOLIDAYS = ((1, 1), (5, 1), (10, 3), (12, 25), (12, 26))  # month and day
_REGIONS = ("north", "south", "west")


def sample_forecasting(name: str) -> "pandas.DataFrame":
    """A sample as a long table: unique_id, ds, y, and columns of covariates."""
    frame = {"shop-sales": _shops, "city-power": _cities}[name]()
    frame.attrs["name"] = name
    return frame


def _shops() -> "pandas.DataFrame":
    pd = need("pandas", "series", "the sample shop-sales")
    days = pd.date_range("2022-01-03", periods=DAYS, freq="D")
    t = np.arange(DAYS)
    holiday = np.array([(day.month, day.day) in _HOLIDAYS for day in days])
    parts = []
    for shop in range(SHOPS):
        level, growth, peak, lift = draw_uniform(0, "shops", shop, 4)
        week = 1 + (0.2 + 0.4 * lift) * np.array([-0.5, -0.4, -0.2, 0.1, 0.5, 1.0, -0.5])[days.day_of_week]
        year = 1 + 0.25 * np.cos(2 * np.pi * (days.day_of_year.to_numpy() / 365 - peak))
        promotion = draw_uniform(0, "promo", shop, DAYS // 7 + 1).repeat(7)[:DAYS] > 0.85
        mean = 3 * 80**level * np.exp((growth - 0.4) * t / DAYS) * week * year * (1 + 0.6 * promotion)
        mean = np.where(holiday, 0.3 * mean, mean)
        spread = np.sqrt(mean + 0.05 * mean**2)
        sold = np.maximum(np.rint(mean + spread * _normal("sales", shop, DAYS)), 0)
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": f"shop {shop + 1:02d}",
                    "ds": days,
                    "y": sold,
                    "promotion": promotion.astype(float),
                    "holiday": holiday.astype(float),
                    "region": _REGIONS[shop % len(_REGIONS)],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _cities() -> "pandas.DataFrame":
    pd = need("pandas", "series", "the sample city-power")
    hours = pd.date_range("2024-01-01", periods=HOURS, freq="h")
    clock, weekend = hours.hour.to_numpy(), hours.day_of_week.to_numpy() > 4
    parts = []
    for city in range(CITIES):
        size, shift, office = draw_uniform(0, "cities", city, 3)
        angle = 2 * np.pi * (clock - 15 - 3 * shift) / 24
        day = 0.25 * np.cos(angle) + 0.08 * np.cos(2 * angle)
        level = 50 * 20**size
        steady = level * (1 + day * np.where(weekend, 0.6, 1.0) - (0.05 + 0.15 * office) * weekend)
        drift = np.zeros(HOURS)
        for step, shock in enumerate(_normal("power", city, HOURS)):
            drift[step] = 0.9 * drift[step - 1] + 0.02 * level * shock
        parts.append(pd.DataFrame({"unique_id": f"city {city + 1}", "ds": hours, "y": (steady + drift).round(1)}))
    return pd.concat(parts, ignore_index=True)


def _normal(purpose: str, number: int, count: int) -> Float[np.ndarray, "count"]:
    """Standard normal numbers, by Box and Muller's rule."""
    u = draw_uniform(0, purpose, number, 2 * count).reshape(2, count)
    return np.sqrt(-2 * np.log(1 - u[0])) * np.cos(2 * np.pi * u[1])


__all__ = ["sample_forecasting"]
