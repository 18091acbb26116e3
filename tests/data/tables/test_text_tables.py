"""The columns of a table as texts, from every form that tables come in."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from cutaway.data.tables.text_tables import read_columns

ROWS = {"text": ["so good, so warm", "007"], "label": ["NA", "2"]}


def test_every_form_gives_the_same_texts(tmp_path: Path):
    for name, separator in (("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";"), ("c.csv", "|")):
        lines = [f'"{text}"{separator}{label}' for text, label in zip(*ROWS.values(), strict=True)]
        (tmp_path / name).write_text("\n".join([f"text{separator}label", *lines]) + "\n")
        assert read_columns(tmp_path / name) == ROWS, name
    with gzip.open(tmp_path / "a.csv.gz", "wb") as packed:
        packed.write((tmp_path / "a.csv").read_bytes())
    assert read_columns(tmp_path / "a.csv.gz") == ROWS
    objects = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, objects)))
    (tmp_path / "a.json").write_text(json.dumps(objects))
    pd.DataFrame(ROWS).to_parquet(tmp_path / "a.pq")
    for name in ("a.jsonl", "a.json", "a.pq"):
        assert read_columns(tmp_path / name) == ROWS, name
    assert read_columns(pd.DataFrame(ROWS)) == read_columns(ROWS) == ROWS


def test_what_is_missing_is_empty():
    assert read_columns(pd.DataFrame({"a": [1.0, None], "b": ["x", None]})) == {"a": ["1", ""], "b": ["x", ""]}


def test_tables_that_do_not_read(tmp_path: Path):
    (tmp_path / "empty.csv").write_text("\n\n")
    with pytest.raises(
        ValueError, match=r"a table must have a row, got empty\.csv, which is empty; give one with rows"
    ):
        read_columns(tmp_path / "empty.csv")
    (tmp_path / "a.jsonl").write_text('{"text": 1}\n{"text"\n')
    with pytest.raises(ValueError, match=r"every line must be a JSON object, got '\{\"text\"' in line 2 of a\.jsonl"):
        read_columns(tmp_path / "a.jsonl")
