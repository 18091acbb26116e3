"""Labelled texts in every form that they come in give the same texts and labels; damaged ones are named."""

import gzip
import json
import zipfile
from pathlib import Path

import pandas
import pytest

from cutaway.data.files import TextSource
from cutaway.data.labelled.labelled_sources import LabelledForm, open_labelled

TEXTS = ["so good, so charming", 'the "best" film', "dull and long", "a waste; of time"]
LABELS = ["very good", "very good", "bad", "bad"]
KINDS = (
    *("csv", "csv.gz", "semicolons.csv", "tsv", "headless.tsv", "plain.tsv"),
    *("parquet", "jsonl", "jsonl.gz", "json", "fasttext"),
)
FRAME = pandas.DataFrame({"text": TEXTS, "label": LABELS})


def write(folder: Path, kind: str) -> Path:
    path = folder / f"reviews.{kind}"
    if kind in ("csv", "csv.gz"):
        FRAME.to_csv(path, index=False)
    elif kind == "semicolons.csv":
        FRAME.to_csv(path, index=False, sep=";")
    elif kind == "tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == "headless.tsv":
        FRAME.to_csv(path, index=False, sep="\t", header=False)
    elif kind == "plain.tsv":  # quotes are plain characters
        path.write_text("".join(f"{label}\t{text}\n" for text, label in zip(TEXTS, LABELS)))
    elif kind == "open-quotes.tsv":
        texts = ['"so" good', *TEXTS[1:]]
        path.write_text("".join(f"{text}\t{label}\n" for text, label in zip(texts, LABELS)))
    elif kind == "parquet":
        FRAME.to_parquet(path, index=False)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records")))
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(write(folder, "jsonl").read_bytes()))
    elif kind == "json":
        path.write_text(json.dumps(FRAME.to_dict("records")))
    elif kind == "fasttext":
        path.write_text("".join(f"__label__{label.replace(' ', '_')} {text}\n" for text, label in zip(TEXTS, LABELS)))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_from_every_kind_of_file(kind: str, tmp_path: Path):
    found = open_labelled(write(tmp_path, kind), LabelledForm())
    assert list(found.texts) == TEXTS
    assert list(found.labels) == LABELS
    assert len(found.places) == 4
    assert found.fingerprint.digest


def test_quotes_that_stay_open_are_characters(tmp_path: Path):
    found = open_labelled(write(tmp_path, "open-quotes.tsv"), LabelledForm())
    assert list(found.texts) == ['"so" good', *TEXTS[1:]]


def test_a_frame_and_a_dict():
    for table in (FRAME, {"text": TEXTS, "label": LABELS}):
        assert list(open_labelled(table, LabelledForm()).texts) == TEXTS
    stars = FRAME.assign(label=[1.0, float("nan"), 2.0, 2.0])
    assert list(open_labelled(stars, LabelledForm()).labels) == ["1", "", "2", "2"]


def test_nothing_is_taken_for_missing_or_for_a_number(tmp_path: Path):
    path = tmp_path / "words.csv"
    path.write_text("text,label\nNone,007\nNA,007\n1e5,nan\n")
    found = open_labelled(path, LabelledForm())
    assert (list(found.texts), list(found.labels)) == (["None", "NA", "1e5"], ["007", "007", "nan"])


def test_columns_are_joined():
    table = {"title": ["A", "B"], "body": ["a", ""], "label": ["x", "y"]}
    assert list(open_labelled(table, LabelledForm(text="title,body")).texts) == ["A\na", "B"]


def test_a_folder_for_every_class(tmp_path: Path):
    for name, text in (("pos/1.txt", "so\ngood"), ("pos/2.txt", "fine\n"), ("neg/1.txt", "dull")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "README.md").write_text("what this is")
    found = open_labelled(tmp_path, LabelledForm())
    assert list(zip(found.labels, found.texts, found.places)) == [
        ("neg", "dull", "neg/1.txt"),
        ("pos", "so\ngood", "pos/1.txt"),
        ("pos", "fine", "pos/2.txt"),
    ]


def test_a_file_for_every_class(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "names.zip", "w") as archive:
        archive.writestr("data/Czech.txt", "Novák\n\nDvořák\n")
        archive.writestr("data/Arabic.txt", "Khoury\n")
        archive.writestr("data/README.txt", "names")
        archive.writestr("__MACOSX/data/Czech.txt", "x")
    found = open_labelled(tmp_path / "names.zip", LabelledForm())
    assert list(zip(found.labels, found.texts)) == [
        ("Arabic", "Khoury"),
        ("Czech", "Novák"),
        ("Czech", ""),
        ("Czech", "Dvořák"),
    ]
    assert found.places[3] == "line 3 of data/Czech.txt"


def test_the_corpora(data_folder: Path):
    for name, labels in (("sentence_polarity", {"neg", "pos"}), ("subjectivity", {"plot", "quote"})):
        found = open_labelled(data_folder / "text" / f"{name}.zip", LabelledForm(encoding="latin-1"))
        assert set(found.labels) == labels
        assert len(found.texts) == {"sentence_polarity": 10662, "subjectivity": 10000}[name]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "x.csv, which is empty"),
        ("x.jsonl", '{"text": "a"}\n{"text": ', "every line must be a JSON object, got .* in line 2 of x.jsonl"),
        ("x.jsonl", '"text"\n', "must hold an object a text, got 'text' in x.jsonl"),
        ("x.json", "[{", "JSON must be whole, got x.json"),
        ("x.txt", "__label__a __label__b so\n", r"got 2 \(__label__a __label__b\) in line 1 of x.txt"),
        ("x.csv", "text,label\na,b\nc\n", "every row must have the 2 fields .* line 3 of x.csv"),
    ],
)
def test_refused(name: str, content: str, message: str, tmp_path: Path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        open_labelled(tmp_path / name, LabelledForm())


def test_folders_that_are_no_classes(tmp_path: Path):
    for name in ("train/pos/1.txt", "train/neg/1.txt", "test/pos/1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=r"got train and test in .* use --data .*train --test-file .*test"):
        open_labelled(tmp_path, LabelledForm())
    with pytest.raises(ValueError, match="text names a column of a table, got 'review' for train"):
        open_labelled(tmp_path / "train", LabelledForm(text="review"))
    (tmp_path / "train" / "more.txt").write_text("x")
    with pytest.raises(ValueError, match=r"got both \(neg/1.txt beside more.txt\)"):
        open_labelled(tmp_path / "train", LabelledForm())


def test_a_source_of_lines():
    source = TextSource.from_text("module\ttext\na\tso it is\nb\tso it goes\na\tit was\n", "lines")
    found = open_labelled(source, LabelledForm())
    assert (found.name, list(found.labels)) == ("lines", ["a", "b", "a"])
