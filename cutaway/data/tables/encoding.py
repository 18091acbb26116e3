r"""Rows of a table to arrays, by its schema alone, and predictions back to labels and units."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.checks import nearest
from cutaway.data.tables.columns import column_numbers, expect_none, word_codes
from cutaway.data.tables.date_formats import waves
from cutaway.data.tables.schema import FIRST, MISSING, UNSEEN, Column, Schema
from cutaway.data.tables.targets import label_ids
from cutaway.data.tables.text_columns import find_infinite
from cutaway.extras import need
from cutaway.overriding import override

if TYPE_CHECKING:
    import pandas

_FARTHEST = 1e30  # deviations from the mean: float32 ends at 3e38, and layers add up many of them


class Encoded(NamedTuple):
    """Rows as arrays: standardised numbers, ids of categories, and targets, None where there are none.

    Targets: classes are int64 (rows,); labels int64 0 or 1, (rows, labels); numbers float32, standardised, (rows,) or
    (rows, targets) if there are several.
    """

    numbers: Float[np.ndarray, "n p"]
    categories: Int[np.ndarray, "n q"]
    targets: Shaped[np.ndarray, "n ..."] | None


def tidy(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table with names as text, infinite numbers and blank words as missing, and no spaces around words."""
    pd = need("pandas", "tables", "reading a table")
    twice = [str(name) for name, count in Counter(map(str, frame.columns)).items() if count > 1]
    if twice:
        raise ValueError(f"columns must have different names, got {twice[0]!r} twice; rename one of them")
    changed = {}
    for place in (i for i, kind in enumerate(frame.dtypes) if kind.kind not in "fiubcmM"):
        series = frame.iloc[:, place]
        if not isinstance(series.dtype, pd.CategoricalDtype) and pd.api.types.is_string_dtype(series):
            words = series.str.strip()
            changed[str(series.name)] = words.where(words != "")
    named = frame.set_axis(list(map(str, frame.columns)), axis=1)
    return without_infinite(named.assign(**changed) if changed else named)


def without_infinite(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table with infinite numbers as missing."""
    changed = {}
    for place in find_infinite(frame):
        series = frame.iloc[:, place]
        changed[str(series.name)] = series.where(np.isfinite(series.to_numpy(np.float64, na_value=np.nan)))
    return frame.assign(**changed) if changed else frame


def encode(schema: Schema, frame: "pandas.DataFrame") -> Encoded:
    """The rows of a table as arrays; targets too, if the table has their columns."""
    return encode_tidy(schema, tidy(frame))


def encode_tidy(schema: Schema, frame: "pandas.DataFrame") -> Encoded:
    """`encode` for a table that is tidy."""
    for column in schema.columns:
        if column.kind not in ("ignored", "text") and column.name not in frame:
            raise ValueError(
                f"a table must have the columns of training, got one without {column.name!r}; the nearest of its "
                f"{len(frame.columns)} columns are: {nearest(column.name, list(frame.columns))}"
            )
    blocks = [_numbers(column, frame[column.name]) for column in schema.columns if column.numbers]
    ids = [_category(column, frame[column.name]) for column in schema.categories]
    rows = len(frame)
    with_targets = all(column.name in frame for column in schema.targets)
    return Encoded(
        np.concatenate(blocks, axis=1).astype(np.float32) if blocks else np.empty((rows, 0), np.float32),
        np.stack(ids, axis=1) if ids else np.empty((rows, 0), np.int64),
        encode_targets(schema, frame) if with_targets else None,
    )


def _numbers(column: Column, series: "pandas.Series") -> Float[np.ndarray, "n k"]:
    values = column_numbers(column, series)
    missing = np.isnan(values)
    z = (values - column.mean) / column.std
    expect_none(np.abs(z) > _FARTHEST, column.name, series, f"numbers within {_FARTHEST:.0e} deviations of the mean")
    parts = [z[:, None]]
    parts += [waves(values, cycle) for cycle in column.cycles]
    if column.missing:
        parts.append(missing[:, None].astype(np.float64))
    return np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0)  # 0 is the mean, and no place in a cycle


def _category(column: Column, series: "pandas.Series") -> Int[np.ndarray, "n"]:
    codes, words = word_codes(series)
    places = {word: i + FIRST for i, word in enumerate(column.categories)}
    ids = np.array([places.get(word, UNSEEN) for word in words] + [MISSING], dtype=np.int64)
    return ids[codes]  # code −1, missing, is the last


def encode_targets(schema: Schema, frame: "pandas.DataFrame") -> Shaped[np.ndarray, "n ..."]:
    """The targets of rows that all have one."""
    if schema.task in ("binary", "multi-class"):
        return label_ids(schema, frame[schema.targets[0].name])
    values = np.stack([column_numbers(column, frame[column.name]) for column in schema.targets], axis=1)
    if schema.task == "multi-label":
        return values.astype(np.int64)
    mean, std = _scale(schema)
    scaled = ((values - mean) / std).astype(np.float32)
    return scaled[:, 0] if len(schema.targets) == 1 else scaled


def _scale(schema: Schema) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]:
    return np.array([column.mean for column in schema.targets]), np.array([column.std for column in schema.targets])


def decode(schema: Schema, predictions: Shaped[np.ndarray, "n ..."] | Sequence[Any]) -> list[Any]:
    """Predictions as a person would write them: numbers in their own units, labels, or the labels that hold."""
    values = np.asarray(predictions)
    if schema.task == "regression":
        mean, std = _scale(schema)
        scaled = values.reshape(len(values), -1) * std + mean
        return (scaled[:, 0] if values.ndim == 1 else scaled).tolist()
    if schema.task == "multi-label":
        return [tuple(label for label, on in zip(schema.labels, row) if on) for row in values.tolist()]
    return [schema.labels[int(i)] for i in values]


class TableBatches(Batches[Encoded]):
    """Rows of a table in batches, every row once in each epoch, in an order drawn anew for each."""

    def __init__(self, table: Encoded, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.table = table
        self.rows = ShuffledRows(len(table.numbers), batch, seed, rank, world)

    @override
    def at(self, step: int) -> Encoded:
        rows = self.rows.at(step)
        numbers, categories, targets = self.table
        return Encoded(numbers[rows], categories[rows], None if targets is None else targets[rows])


__all__ = ["Encoded", "TableBatches", "decode", "encode", "encode_targets", "encode_tidy", "tidy", "without_infinite"]
