r"""Views of runs that look for odd points: the series with the oddest stretches, each marked."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.look.pages.picture import Picture
from cutaway.look.series.marks import marked_series
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_ODD = "Orange: what came was too unlikely given what came before; blue: what was expected."
_NOTHING = "Every value lies near enough to what was expected, in blue; the first steps have too little before them."
_CLOSE = 3  # stretches that are drawn close up, the oddest


def looks_for_oddities(run: "Run") -> bool:
    """Runs that look for odd points."""
    return run.recipe.task_kind == "series/anomalies"


def odd_stretches(run: "Run", subject: Subject) -> list[Picture]:
    """The series with the most alarms, and its oddest stretches close up; of training's, up to the test windows."""
    learner: Any = run.learner
    table, found = learner.detections(subject.source)
    ends = (table if subject.source else run.task.parts.before_test).lengths.tolist()
    counts = [sum(one.start < end for one in each.stretches) for each, end in zip(found, ends)]
    i = int(np.argmax(counts))
    end, one = ends[i], found[i]
    stretches = [stretch for stretch in one.stretches if stretch.start < end]
    note = f"The threshold allows {learner.settings.alarms_per_year:g} false alarms a year."
    note += "" if subject.source else " The test windows are not shown."

    def drawn(start: int, stop: int, title: str, note: str = "", width: int = 680) -> Picture:
        marks = [(max(s.start, start) - start, min(s.stop, stop) - start) for s in stretches]
        return marked_series(
            list(table.clock_times(i, start, stop)),
            table.values[i][start:stop],
            one.expected[start:stop],
            [(a, b) for a, b in marks if a < b],
            title=title,
            caption=_ODD if stretches else _NOTHING,
            note=note,
            width=width,
        )

    told = f"{len(stretches)} odd stretches" if stretches else "nothing odd"
    pictures = [drawn(0, end, f"{table.names[i]}: {told}", note)]
    room = max(2 * table.season, 20)
    oddest = sorted(stretches, key=lambda s: -np.nan_to_num(one.scores[s.peak]))[:_CLOSE]
    for stretch in oddest:
        when = table.clock_times(i, stretch.start, stretch.start + 1)[0]
        start, stop = max(stretch.start - room, 0), min(stretch.stop + room, end)
        pictures.append(drawn(start, stop, f"Close up: {table.names[i]}, {when}", width=460))
    return pictures
