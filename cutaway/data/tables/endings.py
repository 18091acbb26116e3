r"""The endings of the names of files that hold tables: the one list of them.

rows.csv, rows.tsv.gz, rows.parquet        read as tables
rows.jsonl                                 read where the columns are texts
rows.xlsx                                  a table that is to be saved as CSV first
"""

import os
from pathlib import Path

CSV = (".csv", ".tsv")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson", ".json")
SPREADSHEETS = (".xlsx", ".xls", ".ods")
PACKED = (".gz", ".xz", ".bz2", ".zip")

TABLES = (*CSV, *PARQUET)
TEXT_TABLES = (*TABLES, *JSON_LINES)


def file_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a name that says what a file holds, in small letters, without those that say how it is packed.

    >>> file_ending("edges.CSV.gz"), file_ending("edges")
    ('.csv', '')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    while endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings else ""


def is_text_table(path: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a table whose columns can be read as texts.

    >>> is_text_table("reviews.csv.gz"), is_text_table("reviews.jsonl"), is_text_table("reviews.txt")
    (True, True, False)
    """
    return any(ending in TEXT_TABLES for ending in map(str.lower, Path(path).suffixes))


__all__ = [
    "CSV",
    "JSON_LINES",
    "PACKED",
    "PARQUET",
    "SPREADSHEETS",
    "TABLES",
    "TEXT_TABLES",
    "file_ending",
    "is_text_table",
]
