"""Labelled texts are checked, and split by class with the same text always in one part."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest

from cutaway.data import open_data, read_labelled
from cutaway.data.labelled.labelled_texts import TextRows, count_shared


def table(*rows: tuple[str, str]) -> dict[str, list[str]]:
    return {"text": [text for text, _ in rows], "label": [label for _, label in rows]}


MANY = table(*((f"text number {i}", "ab"[i % 4 == 0]) for i in range(400)))


def test_stratified_and_disjoint():
    found = read_labelled(MANY, validation=0.1, test=0.2)
    assert found.labels == ("a", "b")
    assert found.counts == {"train": 280, "validation": 40, "test": 80}
    parts = (found.train, found.validation, found.open_test())
    assert [np.bincount(part.labels).tolist() for part in parts] == [[210, 70], [30, 10], [60, 20]]
    assert len({text for part in parts for text in part.texts}) == 400
    again = read_labelled(MANY, validation=0.1, test=0.2)
    assert again.train.texts == found.train.texts
    assert read_labelled(MANY, validation=0.1, test=0.2, seed=1).train.texts != found.train.texts


def test_the_same_text_stays_in_one_part():
    rows = [(f"Text {i % 50}" if i % 2 else f"text  {i % 50}", "ab"[i % 2]) for i in range(300)]
    found = read_labelled(table(*rows), validation=0.2, test=0.2)
    parts = [{text.casefold().replace("  ", " ") for text in part.texts} for part in (found.train, found.validation)]
    parts.append({text.casefold().replace("  ", " ") for text in found.open_test().texts})
    assert len(parts[0] | parts[1] | parts[2]) == sum(map(len, parts))
    assert sum(found.counts.values()) == 300
    assert "250 texts come again" in found.summary()


def test_what_is_left_out_is_counted_and_named():
    rows = [*zip(MANY["text"], MANY["label"]), ("  ", "a"), ("x", ""), ("text number 0", "a")]
    notes = "\n".join(read_labelled(table(*rows)).notes)
    assert "left out: 1 empty texts (row 401)" in notes
    assert "left out: 1 texts without a label (row 402)" in notes
    assert "1 texts come again with another label, such as 'text number 0'" in notes


def test_rare_classes_stay_in_training_and_are_named():
    rows = [*zip(MANY["text"], MANY["label"]), ("alone", "c"), ("other", "A")]
    found = read_labelled(table(*rows))
    assert {"A", "c"} <= {found.labels[i] for i in found.train.labels}
    notes = "\n".join(found.notes)
    assert "fewer than 10 texts, hard to learn and to measure: A (1), c (1)" in notes
    assert "differ in capitals alone are taken for different classes: A, a" in notes


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (table(("a", "x"), ("b", "x")), {}, "at least two classes, got a table in memory where every label is 'x'"),
        (table(*((f"t {i}", f"l {i}") for i in range(9))), {}, "got 9 different ones for 9 texts .*such as 'l 0'"),
        (table(("", "x"), ("b", "")), {}, "with 1 empty texts and 1 without a label"),
        (MANY, {"validation": 0.9, "test": 0.2}, "validation and test must be shares"),
        (table(("a", "x"), ("b", "y"), ("c", "x")), {}, "got none for validation=0.1 of 3 texts"),
        ("nowhere.csv", {}, "got 'nowhere.csv', which is none"),
        ("iris", {}, "labelled was asked for, got the table sample iris"),
    ],
)
def test_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        read_labelled(data, **options)


def test_a_test_file_of_its_own(tmp_path: Path):
    path = tmp_path / "test.csv"
    path.write_text("text,label\nnew,a\ntext number 3,b\n")
    found = read_labelled(MANY, test=path)
    assert found.counts["test"] == 0
    assert "test in a file of its own" in found.summary()
    rows = found.open_test()
    assert rows.texts == ["new", "text number 3"]
    assert rows.labels.tolist() == [0, 1]
    path.write_text("text,label\nnew,z\n")
    with pytest.raises(ValueError, match=r"got 'z' in test.csv; the labels are: a, b"):
        found.open_test()
    with pytest.raises(ValueError, match="test_file must be a file or folder that exists"):
        read_labelled(MANY, test=tmp_path / "tests.csv")


def test_count_shared():
    train = TextRows(["So good", "bad"], np.array([0, 1]))
    assert count_shared(train, TextRows(["so  GOOD", "fine"], np.array([0, 0]))) == 1


def test_open_data_knows_the_sample():
    found = open_data("python-modules")
    assert len(found.labels) == 12
    assert "turtle" in found.labels


def listed(labels: list[object], path: Path, write: str) -> Path:
    rows = [{"text": f"text number {i}", "label": label} for i, label in enumerate(labels)]
    if write == "jsonl":
        path = path / "listed.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif write == "csv":  # as pandas writes a column of lists
        path = path / "listed.csv"
        pandas.DataFrame(rows).to_csv(path, index=False)
    else:
        path = path / "listed.parquet"
        pandas.DataFrame(rows).to_parquet(path)
    return path


@pytest.mark.parametrize("write", ["jsonl", "csv", "parquet"])
def test_a_list_of_one_label_is_that_label_and_an_empty_one_is_none(tmp_path: Path, write: str):
    path = listed([["a"], ["b"]] * 20 + [[]], tmp_path, write)
    found = read_labelled(path)
    assert found.labels == ("a", "b")
    assert "left out: 1 texts without a label (row" in found.summary()


@pytest.mark.parametrize("write", ["jsonl", "csv", "parquet"])
def test_a_text_with_several_labels_is_refused(tmp_path: Path, write: str):
    path = listed([["a"], ["b"]] * 20 + [["a", "b"]], tmp_path, write)
    told = rf"every text must have one label, got \[.a., .b.\] in row 4\d of {path.name}; keep one of them"
    with pytest.raises(ValueError, match=told):
        read_labelled(path)


@pytest.mark.parametrize("labels", [("a", "b"), {"b", "a"}, np.array(["a", "b"]), {"a": 1, "b": 0}])
def test_several_labels_in_memory_are_refused_too(labels: object):
    data = {"text": [f"text {i}" for i in range(5)], "label": ["a", "b", "a", "b", labels]}
    with pytest.raises(ValueError, match=r"every text must have one label, got .*a.*b.* in row 5 of"):
        read_labelled(data)


def test_labels_in_brackets_that_are_no_lists_stay():
    found = read_labelled(table(*((f"text {i}", ("[sic]", "(a) b (c)")[i % 2]) for i in range(40))))
    assert found.labels == ("(a) b (c)", "[sic]")


@pytest.mark.parametrize("digits", [2, 6])
def test_measured_numbers_are_no_classes(digits: int):
    """Be it that they repeat or not."""
    data = {"text": [f"text {i}" for i in range(300)], "score": [f"{i % 97 / 7:.{digits}f}" for i in range(300)]}
    told = r"labels must be classes, got 97 different numbers, such as 0\.0+ and \d.*, in the column 'score' of"
    with pytest.raises(ValueError, match=told):
        read_labelled(data)
    halves = {"text": [f"text {i}" for i in range(300)], "stars": [str(i % 10 / 2) for i in range(300)]}
    assert len(read_labelled(halves).labels) == 10


def test_a_label_that_training_has_not_is_found_before_training(tmp_path: Path):
    test = tmp_path / "held_out.csv"
    test.write_text("text,label\nnew one,a\nother,c\n")
    with pytest.raises(ValueError, match=r"labels of training, got 'c' in held_out\.csv; the labels are: a, b"):
        read_labelled(MANY, test=test)
