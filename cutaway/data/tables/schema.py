r"""What a table is: the kind of each column, what is known of its values, and what is to be predicted.

    number     standardised, z = (x − mean) / std, and a column that says where it is missing
    flag       yes or no: 0 or 1, standardised like a number
    date       days, standardised, and the sine and cosine of its place in the year, the week and the day
    category   one of a list: its place in that list + 2, with 0 for one never seen in training and 1 for missing
    text       free text: shown, not used
    ignored    nothing to learn from: constant, empty, or a name for the row

Kinds are found from the whole table; means, deviations, shares and lists are taken from the training rows alone.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cutaway.overriding import override

KINDS = ("number", "flag", "date", "category", "text", "ignored")
TASKS = ("regression", "binary", "multi-class", "multi-label")
UNSEEN, MISSING, FIRST = 0, 1, 2  # ids of a category
Label = str | int | float | bool
_WIDE = 100  # columns, at most, that are all shown
_FEW = 10  # columns of a wider table that are shown


@dataclass(frozen=True)
class Column:
    """A column: its kind, the share of missing values, and what its kind needs to know."""

    name: str
    kind: str
    missing: float = 0.0
    reason: str = ""  # why it is ignored; of others, what to know about how it was read
    categories: tuple[str, ...] = ()  # of a category; of a flag, its no and its yes
    mean: float = 0.0
    std: float = 1.0
    low: float = 0.0
    high: float = 0.0
    format: str = ""  # how dates (%d.%m.%Y) or numbers (1.234,56) are written; empty for plain ones
    cycles: tuple[str, ...] = ()  # of a date: year, week, day

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the numbers that stand for it."""
        if self.kind not in ("number", "flag", "date"):
            return ()
        waves = [f"{self.name} ({cycle}, {wave})" for cycle in self.cycles for wave in ("sine", "cosine")]
        return (self.name, *waves, *([f"{self.name} (missing)"] if self.missing else []))

    def about(self) -> str:
        """What its values look like, how they are written, and what else to know."""
        told = ""
        if self.kind == "number":
            told = f"{self.low:.4g} to {self.high:.4g}, mean {self.mean:.4g}, std {self.std:.4g}"
        elif self.kind == "date":
            told = f"{_day(self.low)} to {_day(self.high)}"
        elif self.kind in ("category", "flag"):
            shown = ", ".join(self.categories[:4]) + (", ..." if len(self.categories) > 4 else "")
            told = f"{len(self.categories)}: {shown}"
        written = f"written {self.format}" if self.format and self.kind in ("number", "date") else ""
        return "; ".join(filter(None, [", ".join(filter(None, [told, written])), self.reason]))


def _day(days: float) -> str:
    from datetime import date, timedelta

    return str(date(1970, 1, 1) + timedelta(days=int(days)))


@dataclass(frozen=True)
class Schema:
    """A table's input columns, its targets, the task, and the labels that predictions are given in."""

    columns: tuple[Column, ...]
    targets: tuple[Column, ...]
    task: str
    labels: tuple[Label, ...] = ()  # of the classes, in the order of their ids; of a multi-label task, its columns
    version: int = 1
    counts: tuple[int, ...] = ()  # training rows of each class; of a multi-label task, with each label
    rows_counted: int = 0  # training rows

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the number inputs, in the order of the encoded matrix."""
        return tuple(name for column in self.columns for name in column.numbers)

    @property
    def categories(self) -> tuple[Column, ...]:
        """The category columns, in the order of the encoded matrix."""
        return tuple(column for column in self.columns if column.kind == "category")

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many ids each category column has, with those for unseen and missing."""
        return tuple(len(column.categories) + FIRST for column in self.categories)

    @property
    def outputs(self) -> int:
        """How many numbers a model has to give."""
        return len(self.labels) if self.task == "multi-class" else len(self.targets)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Schema":
        """The schema of `to_dict`, also after a way through JSON, where tuples are lists."""
        if value["version"] != 1:
            raise ValueError(
                f"a schema must have version 1, got version {value['version']}; update cutaway, or read the table again"
            )
        columns, targets = (tuple(map(read_column, value[key])) for key in ("columns", "targets"))
        return cls(
            columns,
            targets,
            value["task"],
            tuple(value["labels"]),
            counts=tuple(value.get("counts", ())),
            rows_counted=value.get("rows_counted", 0),
        )

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Name, kind, missing share and values of every column, for showing."""
        yield from map(_row, self.columns)
        for column in self.targets:
            about = self._classes(column) if self.task in ("binary", "multi-class") else column.about()
            yield column.name, "target", "", f"{self.task}, {about}"

    def _classes(self, column: Column) -> str:
        shares = [f" {count / sum(self.counts):.1%}" for count in self.counts] or [""] * len(self.labels)
        shown = [f"{label}{share}" for label, share in zip(self.labels, shares)]
        told = f"{len(shown)}: {', '.join(shown[:4])}" + (", ..." if len(shown) > 4 else "")
        return "; ".join(filter(None, [told, column.reason]))

    def shown_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """`rows`, but of a wide table the first columns, those that there is something to say of, and a summary."""
        if len(self.columns) <= _WIDE:
            yield from self.rows()
            return
        noted = [column for column in self.columns[_FEW:] if column.kind not in ("ignored", "text") and column.reason]
        unread = [column for column in self.columns[_FEW:] if column.kind == "ignored" and " ways " in column.reason]
        shown = [*self.columns[:_FEW], *noted[:_FEW], *unread[:_FEW]]
        yield from map(_row, shown)
        kinds = Counter(column.kind for column in self.columns)
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        yield f"... {len(self.columns) - len(shown):,} more", "", "", f"in all {len(self.columns):,}: {told}"
        yield from itertools.islice(self.rows(), len(self.columns), None)

    @override
    def __str__(self) -> str:
        rows = [("column", "kind", "missing", "values"), *self.shown_rows()]
        wide = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, wide)), row[3]]).rstrip() for row in rows)

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table("column", "kind", "missing", "values")
        for name, kind, missing, about in self.shown_rows():
            style = {"target": "bold", "ignored": "dim", "text": "dim"}.get(kind, "")
            table.add_row(*map(Text, (name, kind, missing, about)), style=style)  # Text: a name may hold [brackets]
        return table


def _row(column: Column) -> tuple[str, str, str, str]:
    missing = f"{column.missing:.1%}" if column.missing else ""
    return " ".join(column.name.split()), column.kind, missing, column.about()


def read_column(value: Mapping[str, Any]) -> Column:
    """The column of `dataclasses.asdict`, also after a way through JSON."""
    fields: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
    return Column(**fields)


__all__ = ["FIRST", "KINDS", "MISSING", "TASKS", "UNSEEN", "Column", "Label", "Schema", "read_column"]
