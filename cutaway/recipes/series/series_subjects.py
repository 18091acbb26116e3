r"""The subject of a look at a forecaster: the last steps of a few series, and the series that a person gave."""

from dataclasses import dataclass

from cutaway.data.series.series_table import SeriesTable
from cutaway.recipes.subjects import Subject


@dataclass(frozen=True)
class SeriesSubject(Subject):
    """``given`` are the series of a person's own file; None for those that the model was trained on."""

    given: SeriesTable | None = None
