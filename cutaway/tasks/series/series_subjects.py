r"""The subject of a look at a forecaster: the last steps of a few series, and the series that a person gave."""

from dataclasses import dataclass
from typing import Any

from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.subjects import Subject


@dataclass(frozen=True)
class SeriesSubject(Subject):
    """``given`` are the series of a person's own file; None for those that the model was trained on."""

    given: SeriesTable | None = None


def step_names(times: Any) -> tuple[str, ...]:
    """What steps are called: their dates, as short as they can be told apart, or their numbers.

    >>> step_names([3, 4])
    ('3', '4')
    """
    if not all(hasattr(time, "strftime") for time in times):
        return tuple(str(time) for time in times)
    whole_days = all(time.hour == time.minute == 0 for time in times)
    return tuple(f"{time:%Y-%m-%d}" if whole_days else f"{time:%m-%d %H:%M}" for time in times)
