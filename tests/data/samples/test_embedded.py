"""Samples are what they say, the same each time, and found by name; one door opens all."""

import subprocess
import sys

import numpy as np
import pytest

from cutaway.data.files import TextSource
from cutaway.data.kinds import find_kind
from cutaway.data.readers import open_data
from cutaway.data.samples.embedded import list_samples, sample_table, sample_text
from cutaway.data.tables.reading import Table, read_table
from cutaway.data.text.corpus import Corpus, read_text
from cutaway.data.text.pairs import Pairs, read_pairs


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


@pytest.fixture(autouse=True)
def cache(made_once, monkeypatch):
    """One cache for all tests of this file, since a sample takes seconds to make."""
    monkeypatch.setenv("CUTAWAY_CACHE", str(made_once))
    return made_once


TABLES = [sample.name for sample in list_samples() if sample.kind == "table"]


def test_texts_have_the_size_they_say_and_read_as_prose():
    docs = "".join(sample_text("python-docs").pieces())
    assert len(docs) > 500_000
    assert "Return a new" in docs  # a docstring
    assert "The standard type hierarchy" in docs  # the language reference
    source = "".join(sample_text("python-source").pieces())
    assert len(source) > 2_000_000
    assert "import sys" in source
    for text, name in ((docs, "python-docs"), (source, "python-source")):
        (told,) = [float(sample.size.split()[1]) for sample in list_samples() if sample.name == name]
        assert len(text.encode()) / 1e6 == pytest.approx(told, rel=0.5)  # other versions of Python have more or less


def test_texts_are_the_same_in_every_process(tmp_path):
    code = "from cutaway.data.samples.embedded import sample_text; print(sample_text('python-docs').fingerprint.digest)"
    found = set()
    for folder in ("a", "b"):
        environment = {"CUTAWAY_CACHE": str(tmp_path / folder), "PYTHONHASHSEED": folder.encode().hex(), "PATH": ""}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.add(ran.stdout)
    assert found == {sample_text("python-docs").fingerprint.digest + "\n"}


def test_the_parts_of_a_text_are_alike():
    # with reference and docstrings in turn, the letters of the parts are distributed alike
    corpus = read_text("python-docs")
    shares = [
        np.bincount(part[:], minlength=corpus.vocabulary) / len(part) for part in (corpus.train, corpus.validation)
    ]
    assert np.abs(shares[0] - shares[1]).sum() < 0.2  # total variation below a tenth


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_the_size_they_say(name):
    frame = sample_table(name)
    (told,) = [sample.size for sample in list_samples() if (sample.name, sample.kind) == (name, "table")]
    assert told == f"{frame.shape[0]:,} rows, {frame.shape[1]} columns"
    table = read_table(name)
    assert table.name == name
    assert table.schema.targets[0].name == frame.columns[-1]


@pytest.mark.parametrize(
    ("name", "task", "outputs"),
    [
        ("iris", "multi-class", 3),
        ("wine", "multi-class", 3),
        ("breast-cancer", "binary", 1),
        ("diabetes", "regression", 1),
        ("digits", "multi-class", 10),
    ],
)
def test_tasks_of_the_tables(name, task, outputs):
    schema = read_table(name).schema
    assert (schema.task, schema.outputs) == (task, outputs)


def test_one_door(tmp_path):
    (tmp_path / "t.tsv").write_text("go\tvaya\nstop\tpara\nrun\tcorre\nsit\tsienta\n")
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i / 2},{i % 2}\n" for i in range(40)))
    assert isinstance(open_data("python-docs"), Corpus)
    assert isinstance(open_data("iris"), Table)
    assert isinstance(open_data(sample_table("iris")), Table)
    assert isinstance(open_data(TextSource.from_text("abc" * 50)), Corpus)
    assert isinstance(open_data(tmp_path / "t.csv"), Table)
    assert isinstance(open_data(tmp_path / "t.csv", kind="text", validation=0), Corpus)
    assert isinstance(open_data(tmp_path / "t.tsv", kind="pairs", tokenizer="bpe-280"), Pairs)
    assert isinstance(open_data("dates"), Pairs)
    assert open_data("iris", target="petal width (cm)").schema.task == "regression"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", "table"), ("a.CSV.GZ", "table"), ("a.parquet", "table"), ("a.txt.xz", "text"), ("a", "text")],
)
def test_kinds_by_name(name, kind):
    assert find_kind(name) == kind


def test_unknown_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shakespeare.txt").write_text("x")
    rule = "data must be a file, a folder or a sample, got"
    with pytest.raises(ValueError, match=f"{rule} 'pyhton-docs', which is none; did you mean python-docs"):
        open_data("pyhton-docs")
    with pytest.raises(ValueError, match=f"{rule} 'irsi', which is none; did you mean iris"):
        open_data("irsi")
    with pytest.raises(ValueError, match=f"{rule} 'shakespear.txt', which is none; did you mean shakespeare.txt"):
        read_text("shakespear.txt")
    with pytest.raises(
        ValueError, match=f"{rule} 'zzz', which is none; give a path, or a text sample: python-docs, python"
    ):
        read_text("zzz")
    with pytest.raises(ValueError, match=f"{rule} 'zzz', which is none; give a path, or a pairs sample: dates"):
        read_pairs("zzz")
    with pytest.raises(ValueError, match=f"{rule} an empty name; give a path, or a sample: python-docs, "):
        open_data("")


def test_the_wrong_kind():
    with pytest.raises(
        ValueError, match="text was asked for, got the table sample iris; give a path, or a text sample: python"
    ):
        read_text("iris")
    with pytest.raises(
        ValueError, match="table was asked for, got the text sample python-docs; give a path, or a table sample"
    ):
        read_table("python-docs")
    with pytest.raises(ValueError, match=r"kind must be one of text, table, pairs.*, got 'sound'; pick one of these"):
        open_data("iris", kind="sound")
