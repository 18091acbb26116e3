r"""Tables of points, to be clustered: a row a point, its columns numbers or categories; told from lists of edges.

A table is taken for edges if two of its columns are called like the ends of edges, or if its first two columns hold
names or whole numbers that stand in both.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.graphs.edge_lists import SOURCES, TARGETS, read_edge_file
from cutaway.data.graphs.vertex_tables import feature_numbers, find_target
from cutaway.data.samples.embedded import list_samples, resolve
from cutaway.data.tables.endings import TABLES, file_ending
from cutaway.data.tables.table_files import as_frame, load_frame

if TYPE_CHECKING:
    import pandas


class Points(NamedTuple):
    """Points: their table without the target, their names, and known groups if there are."""

    name: str
    frame: "pandas.DataFrame"
    names: list[str]
    labels: list[Any] | None
    notes: list[str]

    def places(self) -> Float[np.ndarray, "n 2"]:
        """Places on a plane: the two columns if there are two, else the two directions of most spread (PCA)."""
        x = feature_numbers(self.frame, "points")[0].astype(np.float64)
        spread = x.std(0)
        x = (x - x.mean(0)) / np.where(spread > 0, spread, 1)
        if x.shape[1] == 1:
            return np.stack([x[:, 0], np.zeros(len(x))], 1)
        if x.shape[1] == 2:
            return x
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return u[:, :2] * s[:2]


def is_point_table(data: Any, encoding: str = "utf-8") -> bool:
    """Whether data is a table of points; what is no table, or cannot be read, is not."""
    if not isinstance(data, (str, os.PathLike)):
        return False
    kinds = {sample.kind for sample in list_samples() if sample.name == os.fspath(data)}
    if kinds:
        return "table" in kinds
    path = Path(data).expanduser()
    if not path.is_file() or file_ending(path) not in (*TABLES, ".txt", ".data"):
        return False
    try:
        frame = load_frame(path, encoding)
    except ValueError:  # the reader of edges says what is wrong
        return False
    names = [str(name).casefold() for name in frame.columns]
    if len(names) < 2 or (set(names) & set(SOURCES) and set(names) & set(TARGETS)):
        return False
    one, two = frame.iloc[:, 0], frame.iloc[:, 1]
    if one.dtype.kind == "f" or two.dtype.kind == "f":
        return True
    try:
        edges = read_edge_file(path, encoding=encoding)
    except ValueError:
        return True
    shared = np.intersect1d(edges.pairs[:, 0], edges.pairs[:, 1])
    return not len(shared)


def read_points(data: Any, target: str = "", encoding: str = "utf-8") -> Points:
    """The points of a table; the target column, named or with a usual name, is set apart."""
    found = resolve(data, "table")
    frame = load_frame(found, encoding) if isinstance(found, Path) else as_frame(found)
    name = found.name if isinstance(found, Path) else str(frame.attrs.get("name", "points"))
    column = find_target(frame, target, name)
    if not column and not isinstance(found, Path) and "name" in frame.attrs:
        column = str(frame.columns[-1])  # a sample's target is its last column
    notes = [f"known groups: column {column!r}, not used"] if column else []
    labels = None
    if column:
        labels = [None if value != value else value for value in frame[column].tolist()]
        frame = frame.drop(columns=[column])
    numbers, columns, left = feature_numbers(frame, "points")
    if not columns:
        raise ValueError(f"points must have a column of numbers or categories, got none of use in {name}; add some")
    if len(numbers) < 3:
        raise ValueError(f"there must be three points to cluster, got {len(numbers)} in {name}; give more rows")
    return Points(name, frame, [str(i + 1) for i in range(len(frame))], labels, notes + left)


__all__ = ["Points", "is_point_table", "read_points"]
