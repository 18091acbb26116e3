r"""What is to be predicted, found from the data: the target columns, the task, and its labels.

regression     numbers, or whole numbers with many different values
binary         two different values
multi-class    words, or whole numbers with few different values
multi-label    several columns of yes or no
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from cutaway.data.checks import expect_choice, nearest
from cutaway.data.tables.columns import column_numbers, find_column, plain_text, word_codes
from cutaway.data.tables.numerals import read_notation
from cutaway.data.tables.schema import TASKS, Column, Label, Schema
from cutaway.data.tables.text_columns import Reading, row_name
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_USUAL = ("target", "targets", "label", "class", "y", "outcome", "response")
_CLASSES = 20  # different whole numbers, at most, that are taken for classes
_ROWS_EACH = 5  # rows for each of them, at least


def find_targets(frame: "pandas.DataFrame", target: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the target columns: as asked for, else one with a usual name, else the last."""
    names = list(frame.columns)
    if target is None:
        usual = [name for name in names if name.casefold() in _USUAL]
        return (usual[0] if len(usual) == 1 else names[-1],)
    if isinstance(target, str):
        asked = [target] if target in names else [part.strip() for part in target.split(",")]
    else:
        asked = list(target)
    for name in asked:
        if name not in names:
            raise ValueError(
                f"target must be a column of the table, got {name!r}; the nearest of its {len(names)} columns are: "
                f"{nearest(name, names)}"
            )
    if len(set(asked)) == len(names):
        raise ValueError(
            f"a table must have a column besides its target, got {len(names)} columns, all targets; "
            "leave out those to predict from"
        )
    return tuple(dict.fromkeys(asked))


def has_target(frame: "pandas.DataFrame", targets: Sequence[str]) -> Bool[np.ndarray, "n"]:
    """Where no target is missing."""
    return frame[list(targets)].notna().all(axis=1).to_numpy()


def find_task(
    frame: "pandas.DataFrame",
    targets: Sequence[str],
    task: str | None = None,
    readings: Mapping[str, Reading] = MappingProxyType({}),
) -> str:
    """The task; ``task`` says it where the data cannot, as for whole numbers that could be either."""
    if task is not None:
        expect_choice("task", task, TASKS)
    for name in targets:
        expect_varied(frame[name])
        if name in readings and readings[name].unusable:
            raise ValueError(f"the target {name!r} must be written in one way, got {readings[name].note}")
    found = _guess(frame, targets, readings)
    if task in (None, found):
        return found
    if len(targets) == 1 and task in ("regression", "multi-class", "binary"):
        distinct = frame[targets[0]].nunique()
        if task == "binary" and distinct != 2:
            raise ValueError(
                f"a binary task must have 2 different targets, got {distinct} in {targets[0]!r}; use task='multi-class'"
            )
        if task == "regression":
            _expect_numbers(frame[targets[0]])
        return task
    raise ValueError(
        f"task must fit the target, got task={task!r} for {', '.join(targets)}, which asks for {found}; leave task out"
    )


def _guess(frame: "pandas.DataFrame", targets: Sequence[str], readings: Mapping[str, Reading]) -> str:
    pd = need("pandas", "tables", "reading a table")
    if len(targets) > 1:
        kinds = {name: find_column(frame[name]).kind for name in targets}
        if set(kinds.values()) == {"flag"}:
            return "multi-label"
        if set(kinds.values()) <= {"number", "flag"}:
            return "regression"
        odd = next(name for name, kind in kinds.items() if kind not in ("number", "flag"))
        raise ValueError(
            f"several targets must all be numbers or all be yes or no, got {odd!r} which is a {kinds[odd]}; "
            "predict it on its own"
        )
    series = frame[targets[0]]
    distinct = series.nunique()
    if distinct == 2:
        return "binary"
    kinds_of = pd.api.types
    if kinds_of.is_numeric_dtype(series) and not isinstance(series.dtype, pd.CategoricalDtype):
        whole = bool((series % 1 == 0).all())
        few = distinct <= _CLASSES and len(series) >= _ROWS_EACH * distinct
        return "multi-class" if whole and few else "regression"
    if distinct > len(series) / 2:
        note = readings[targets[0]].note if targets[0] in readings else ""
        told = f" ({note})" if note else ""
        raise ValueError(
            f"a target of classes must have several rows for each, got {distinct:,} different values in "
            f"{len(series):,} rows of {targets[0]!r}{told}; pick another target"
        )
    return "multi-class"


def expect_varied(series: "pandas.Series") -> None:
    """There must be something to learn."""
    values = series.dropna()
    if values.empty:
        raise ValueError(f"a target must have values, got only missing ones in {series.name!r}; pick another target")
    if values.nunique() == 1:
        raise ValueError(
            f"a target must vary, got {plain_text(values.iloc[0])!r} in all {len(values):,} rows of {series.name!r}; "
            "there is nothing to learn, pick another target"
        )


def _expect_numbers(series: "pandas.Series") -> None:
    try:
        column_numbers(Column(str(series.name), "number"), series)
    except ValueError:
        pd = need("pandas", "tables", "reading a table")
        place = int(np.argmax(pd.to_numeric(series, errors="coerce").isna()))
        raise ValueError(
            f"a regression must have numbers as its target, got {plain_text(series.iloc[place])!r} in "
            f"{row_name(series, place)} of {series.name!r}; use task='multi-class'"
        ) from None


def find_labels(
    frame: "pandas.DataFrame", targets: Sequence[str], task: str, written: "pandas.Series | None" = None
) -> tuple[Label, ...]:
    """The labels of the classes in order; of a multi-label task, the names of its columns.

    ``written`` is the target as it stands in a file: a label that would be written otherwise (01, 1.0, TRUE) is text.
    """
    if task == "multi-label":
        return tuple(targets)
    if task == "regression":
        return ()
    values = frame[targets[0]]
    labels = sorted((_native(value) for value in values.unique()), key=lambda x: (str(type(x)), x))
    if written is None:
        return tuple(labels)
    spellings: dict[Label, set[str]] = {}
    for value, text in set(zip(values, written.reindex(values.index))):
        spellings.setdefault(_native(value), set()).add(str(text))
    if all(spellings[label] == {str(label)} for label in labels):
        return tuple(labels)
    return tuple(min(spellings[label], key=lambda text: (len(text), text)) for label in labels)


def _native(value: Any) -> Label:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, (bool, int, float)) else str(value)


def label_ids(schema: Schema, series: "pandas.Series") -> Int[np.ndarray, "n"]:
    """The class of each row. A label may differ from the known one by case, spaces or a full stop at its end."""
    codes, words = word_codes(series)
    known = {plain_text(label): i for i, label in enumerate(schema.labels)}
    loosely = {_loose(word): i for word, i in known.items()}
    if len(loosely) < len(known):  # labels that differ by no more than that: take them exactly
        loosely = {}
    notation = read_notation(schema.targets[0].format)
    numbers = {notation.number(word): i for word, i in known.items()}  # 1.0 is the label 1
    if None in numbers or len(numbers) < len(known):
        numbers = {}

    def place(word: str) -> int:
        found = known.get(word, loosely.get(_loose(word)))
        return numbers.get(notation.number(word), -1) if found is None else found

    ids = np.array([place(word) for word in words], dtype=np.int64)
    if (ids < 0).any():
        odd = int(np.argmax(ids < 0))
        shown = ", ".join(list(known)[:5]) + (", ..." if len(known) > 5 else "")
        raise ValueError(
            f"the target must be one of the {len(known)} labels of training ({shown}), "
            f"got {words[odd]!r} in {row_name(series, int(np.argmax(codes == odd)))} of {series.name!r}; "
            "mend it or leave the row out"
        )
    return ids[codes]


def _loose(word: str) -> str:
    return word.casefold().strip().removesuffix(".")


__all__ = ["expect_varied", "find_labels", "find_targets", "find_task", "has_target", "label_ids"]
