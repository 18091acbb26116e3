r"""Missing cells of a table, filled by a model that restores cells.

    category, yes or no    the most probable value, and P(column): how probable it is
    number, date           the expected value, and the 10 % and 90 % quantiles of what is probable

What a table holds stays as it is; columns that training did not have pass through.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.data.tables.cells import cell_columns, encode_cells
from cutaway.data.tables.columns import column_numbers
from cutaway.data.tables.encoding import tidy
from cutaway.data.tables.schema import Column, Schema
from cutaway.extras import need
from cutaway.models.cells import CellNet
from cutaway.tasks.tables.masked_cells import scores_of

if TYPE_CHECKING:
    import pandas

_LOW, _HIGH = 0.1, 0.9


def fill_table(
    model: CellNet, schema: Schema, frame: "pandas.DataFrame", whole: tuple[str, ...] = ()
) -> "pandas.DataFrame":
    """The table with its gaps filled, and beside each column that had gaps how sure that is, for the filled cells.

    ``whole`` names columns of whole numbers, which are filled with such.
    """
    neat = tidy(frame.reset_index(drop=True))
    cells = encode_cells(schema, neat)
    columns = cell_columns(schema)
    gaps = np.stack([neat[column.name].isna().to_numpy() for column in columns], 1)
    if not gaps.any():
        raise ValueError(
            f"predict fills missing cells, got {len(frame):,} rows without any in the {len(columns)} columns of "
            "training; leave the cells empty that it is to fill"
        )
    rows = np.flatnonzero(gaps.any(1))
    parts = scores_of(model, cells.take(rows)).double().split(list(model.spec.outcomes), -1)
    filled: dict[str, Any] = {}
    by_name = {column.name: (j, column) for j, column in enumerate(columns)}
    for name in neat.columns:
        filled[name] = neat[name].to_numpy(copy=True)
        if name not in by_name:
            continue
        j, column = by_name[name]
        here = np.flatnonzero(gaps[:, j])
        if not len(here):
            continue
        p = parts[j].softmax(-1)[torch.from_numpy(np.searchsorted(rows, here))]
        filled[name], beside = _filled(model, column, j, neat[name], here, p, name in whole)
        for label, values in beside.items():
            own = np.full(len(neat), np.nan, dtype=object if values.dtype == object else np.float64)
            own[here] = values
            filled[label] = own
    pd = need("pandas", "tables", "filling a table")
    return pd.DataFrame(filled, index=frame.index).infer_objects()


def _filled(
    model: CellNet, column: Column, j: int, series: "pandas.Series", here: np.ndarray, p: Tensor, whole: bool
) -> tuple[Any, dict[str, np.ndarray]]:
    """A column with the cells ``here`` filled by their probabilities ``p``, and what stands beside it."""
    if column.kind in ("category", "flag"):
        # Of a flag, the bins are its two values; a training part with one of them alone has one bin.
        best = p.argmax(-1)
        places = best.numpy() if column.kind == "category" else _yes(model, column, j, best)
        values = series.to_numpy(object, copy=True)
        values[here] = _as_came(np.array(column.categories, object)[places], series)
        return values, {f"P({column.name})": p.amax(-1).numpy()}
    mean = _value(column, model.bins.expected(p, j)).numpy()
    low, high = (_value(column, model.bins.quantile(p, j, level)).numpy() for level in (_LOW, _HIGH))
    labels = [f"{column.name} ({level:.0%})" for level in (_LOW, _HIGH)]
    if column.kind == "date":
        values = series.to_numpy(object, copy=True)
        values[here] = _dates(mean, column, series)
        return values, {label: _dates(own, column, series) for label, own in zip(labels, (low, high), strict=True)}
    mean = np.clip(mean, column.low, column.high)
    numbers = column_numbers(column, series)
    numbers[here] = mean.round() if whole else mean
    return (numbers.astype(np.int64) if whole else numbers), dict(zip(labels, (low, high), strict=True))


def _yes(model: CellNet, column: Column, j: int, best: Tensor) -> np.ndarray:
    """1 where the bin of a flag is its yes."""
    means = model.bins.means.split(model.spec.bins)[j].cpu()
    return (_value(column, means[best]) > 0.5).numpy().astype(np.int64)


def _value(column: Column, z: Tensor) -> Tensor:
    return z.double() * column.std + column.mean


def _as_came(words: np.ndarray, series: "pandas.Series") -> np.ndarray:
    """Categories that came as numbers, or as True and False, are filled with such."""
    kind = series.dropna()
    if not len(kind) or isinstance(kind.iloc[0], str):
        return words
    first = kind.iloc[0]
    if isinstance(first, (bool, np.bool_)):
        return np.array([word.casefold() in ("true", "1") for word in words], object)
    try:
        return np.array([float(word) if "." in word else int(word) for word in words], object)
    except ValueError:
        return words


def _dates(days: np.ndarray, column: Column, series: "pandas.Series") -> np.ndarray:
    """Days since 1970 as the column writes its dates."""
    pd = need("pandas", "tables", "filling a table")
    stamps = pd.to_datetime(np.round(days), unit="D")
    if series.dtype.kind == "M":
        return np.array(list(stamps), object)
    pattern = column.format if column.format and column.format != "ISO8601" else "%Y-%m-%d"
    return np.array(stamps.strftime(pattern), object)


__all__ = ["fill_table"]
