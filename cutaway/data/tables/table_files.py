r"""Files that hold a table: CSV or Parquet to train on, and new rows that are read as those of training were."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.data.checks import nearest
from cutaway.data.files import find_files
from cutaway.data.tables.csv_files import CsvFormat, CsvTable, read_csv, read_layout
from cutaway.data.tables.endings import SPREADSHEETS
from cutaway.data.tables.schema import Schema
from cutaway.data.tables.text_columns import read_text_columns
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

# Kinds of files that tables come in and that are not read here, each with a way out.
_OTHER_KINDS = {
    **dict.fromkeys(SPREADSHEETS, ("spreadsheet", "save its sheet as CSV")),
    **dict.fromkeys(
        (".json",), ("JSON file", "write it as CSV: pandas.read_json({!r}).to_csv('table.csv', index=False)")
    ),
    **dict.fromkeys(
        (".jsonl", ".ndjson"),
        ("JSON file", "write it as CSV: pandas.read_json({!r}, lines=True).to_csv('table.csv', index=False)"),
    ),
    **dict.fromkeys(
        (".feather", ".arrow"),
        ("Arrow file", "write it as Parquet: pandas.read_feather({!r}).to_parquet('table.parquet')"),
    ),
}


def open_table(
    path: str | os.PathLike[str], encoding: str, separator: str | None = None, header: bool | None = None
) -> "CsvTable | pandas.DataFrame":
    """The table of a CSV file, as `read_csv` gives it, or of a Parquet file."""
    file = _table_file(path)
    if not is_parquet(file):
        return read_csv(file, encoding, separator, header)
    need("pyarrow", "tables", "reading Parquet")
    pd = need("pandas", "tables", "reading a table")
    with _whole_parquet(file):
        return pd.read_parquet(file)


def _table_file(path: str | os.PathLike[str], setting: str = "data") -> Path:
    files = find_files(path, setting=setting)
    if len(files) > 1:
        raise ValueError(f"a table must be one file, got the folder {path} with {len(files)}; give one of them")
    (file,) = files.values()
    kind = _OTHER_KINDS.get(file.suffix.lower())
    if kind is not None:
        raise ValueError(f"a table must be CSV or Parquet, got the {kind[0]} {file.name}; {kind[1].format(file.name)}")
    return file


def is_parquet(file: Path) -> bool:
    """Whether a file begins as Parquet does, whatever it is called."""
    with open(file, "rb") as opened:
        return opened.read(4) == b"PAR1"


@contextmanager
def _whole_parquet(file: Path) -> Iterator[None]:
    """Names the file that does not read; what pyarrow says of it is kept as the cause."""
    try:
        yield
    except (ValueError, OSError, KeyError) as error:  # pyarrow's own errors are of these kinds
        size = file.stat().st_size
        raise ValueError(
            f"a Parquet file must be whole, got {file.name}, whose {size:,} bytes do not read; write or copy it again"
        ) from error


def column_names(file: Path, encoding: str, header: bool | None) -> list[str]:
    """The names of a table's columns, from the beginning of its file: no row is kept."""
    if is_parquet(file):
        parquet = need("pyarrow.parquet", "tables", "reading Parquet")
        with _whole_parquet(file):
            return list(parquet.read_schema(file).names)
    return list(read_layout(file, encoding, header).names)


def expect_columns(schema: Schema, path: str | os.PathLike[str], encoding: str = "utf-8") -> None:
    """A file of test rows must have the columns of training and the target; only their names are looked at."""
    file = _table_file(path, "test_file")
    wanted = [column.name for column in schema.columns if column.kind not in ("ignored", "text")]
    targets = [column.name for column in schema.targets]
    numbered = _has_numbered_names(schema)
    names = column_names(file, encoding, header=not numbered)
    if numbered:
        count = len(schema.columns) + len(targets)
        if not is_parquet(file) and len(names) != count:
            raise ValueError(
                f"test_file must have the {count} columns of training, the target among them, got {len(names)} in "
                f"{file.name}; give the same columns in the same order"
            )
        return
    for name in (*targets, *wanted):
        if name not in names:
            role = "target" if name in targets else "columns of training"
            raise ValueError(
                f"test_file must have the {role}, got {file.name} without the column {name!r}; the nearest of "
                f"its {len(names)} columns are: {nearest(name, names)}"
            )


def _has_numbered_names(schema: Schema) -> bool:
    """Whether training had no names for the columns."""
    return all(re.fullmatch(r"column_\d+", column.name) for column in (*schema.columns, *schema.targets))


def load_frame(
    path: str | os.PathLike[str], encoding: str = "utf-8", separator: str | None = None, header: bool | None = None
) -> "pandas.DataFrame":
    """The table of a CSV file (packed or not) or a Parquet file; separator and header are found if not given.

    Numbers are numbers, however they are written; what is a code (007) or a word stays text.
    """
    return as_numbers(open_table(path, encoding, separator, header))


def as_numbers(found: "CsvTable | pandas.DataFrame") -> "pandas.DataFrame":
    """What `open_table` gives, with numbers for columns of numerals."""
    if not isinstance(found, CsvTable):
        return found
    decimal = "," if found.layout.separator == ";" else "."
    return read_text_columns(found.frame, found.as_written, decimal)[0]


def load_rows(schema: Schema, path: str | os.PathLike[str], encoding: str = "utf-8") -> "pandas.DataFrame":
    """New rows from a file, to be read as those of training were: plain numbers as numbers, all else as written."""
    names = [column.name for column in (*schema.columns, *schema.targets)]
    numbered = _has_numbered_names(schema)
    found = open_table(path, encoding, header=not numbered)
    if not isinstance(found, CsvTable):
        return found
    layout = found.layout
    plain = {column.name for column in schema.columns if column.kind == "number" and not column.format}
    if numbered:
        layout = _numbered(schema, layout, Path(path).name)
    elif not set(names) & set(layout.names):
        raise ValueError(
            f"the first row of a table must hold the names of its columns, as in training, got "
            f"{', '.join(layout.names[:5])} in {Path(path).name}; the names are: {', '.join(names[:5])}"
        )
    whole = replace(found, layout=layout)
    rest = whole.as_written([name for name in layout.names if name not in plain])
    numbers = found.frame.set_axis(list(layout.names), axis=1)
    return numbers.assign(**{name: rest[name] for name in rest.columns})


def _numbered(schema: Schema, layout: CsvFormat, name: str) -> CsvFormat:
    """The layout of a file without names: its columns are those of training in order, with the targets or without."""
    places = sorted(int(column.name.split("_")[1]) for column in (*schema.columns, *schema.targets))
    targets = {int(column.name.split("_")[1]) for column in schema.targets}
    for kept in (places, [i for i in places if i not in targets]):
        if len(layout.names) == len(kept):
            return replace(layout, names=tuple(f"column_{i}" for i in kept))
    raise ValueError(
        f"a table without names must have the {len(places)} columns of training, or {len(places) - len(targets)} "
        f"without the target, got {len(layout.names)} in {name}; give the same columns in the same order"
    )


def as_frame(table: Any) -> "pandas.DataFrame":
    """A DataFrame, or columns by name, as a DataFrame."""
    pd = need("pandas", "tables", "reading a table")
    if isinstance(table, pd.DataFrame):
        return table
    if not isinstance(table, Mapping):
        raise ValueError(
            f"a table must be a path, a DataFrame or a dict of columns, got {type(table).__name__}; "
            "give it as {name: list of values}"
        )
    lengths = {str(name): len(values) if hasattr(values, "__len__") else 1 for name, values in table.items()}
    short = [name for name, values in table.items() if isinstance(values, str) or not hasattr(values, "__len__")]
    if short:
        raise ValueError(
            f"a dict of columns must have a list of values for each, got {table[short[0]]!r} for {str(short[0])!r}; "
            "give {name: list of values}"
        )
    if len(set(lengths.values())) > 1:
        (one, first), *others = lengths.items()
        two, second = next((name, count) for name, count in others if count != first)
        raise ValueError(
            f"columns must have one length, got {first:,} values in {one!r} and {second:,} in {two!r}; fill the shorter"
        )
    return pd.DataFrame({str(name): list(values) for name, values in table.items()})


def as_parquet(frame: "pandas.DataFrame") -> bytes:
    """A table as a Parquet file; a column that cannot be stored is named."""
    need("pyarrow", "tables", "keeping a copy of a table in memory")
    twice = frame.columns[frame.columns.astype(str).duplicated()]
    if len(twice):
        raise ValueError(f"columns must have different names, got {str(twice[0])!r} twice; rename one of them")
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    try:
        return bytes(frame.to_parquet(index=False))
    except (ValueError, TypeError, NotImplementedError) as whole:
        for name in frame.columns:
            try:
                frame[[name]].to_parquet(index=False)
            except (ValueError, TypeError, NotImplementedError) as error:
                raise ValueError(
                    f"a run keeps a copy of its table, got the column {name!r} of type {frame[name].dtype}, which "
                    f"cannot be stored ({' '.join(str(error).split())}); convert it, for instance with .astype(str)"
                ) from error
        raise ValueError(f"a run keeps a copy of its table, got one that cannot be stored ({whole})") from whole


__all__ = [
    "as_frame",
    "as_numbers",
    "as_parquet",
    "column_names",
    "expect_columns",
    "load_frame",
    "load_rows",
    "open_table",
]
