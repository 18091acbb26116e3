"""The task of classifying texts: its parts from files and memory, texts from lines and tables, what a look shows."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.recipes.texts.classifier import ClassifierRecipe
from cutaway.tasks.texts.classify import TextClasses, texts_of


def test_kinds(tmp_path: Path):
    assert texts_of("one", ["text"]) == ["one"]
    assert texts_of(["one", "two"], ["text"]) == ["one", "two"]
    assert texts_of({"review": ["a b", "c d"], "n": ["1", "2"]}, ["review"]) == ["a b", "c d"]
    lines = tmp_path / "lines.txt"
    lines.write_text("one, of them\n\ntwo\n")
    assert texts_of(lines, ["text"]) == ["one, of them", "", "two"]
    table = tmp_path / "table.csv"
    table.write_text('n,words\n1,"one, of them"\n2,two and more\n')
    assert texts_of(table, ["review"]) == ["one, of them", "two and more"]  # found by its length


def test_joined_columns():
    frame = pd.DataFrame({"title": ["A"], "body": ["b"]})
    assert texts_of(frame, ["title", "body"]) == ["A\nb"]
    with pytest.raises(ValueError, match=r"got a table in memory without 'bodi'; .* 2 columns are: body"):
        texts_of(frame, ["title", "bodi"])


def parts_of(recipe: ClassifierRecipe) -> Any:
    return TextClasses(recipe).parts


def rows() -> pd.DataFrame:
    return pd.DataFrame({"text": [f"review number {i}" for i in range(40)], "label": ["good", "bad"] * 20})


@pytest.mark.untyped
def test_a_file_and_a_table_in_memory_give_the_same_parts(tmp_path: Path):
    rows().to_csv(tmp_path / "reviews.csv", index=False)
    from_file = parts_of(ClassifierRecipe(data=str(tmp_path / "reviews.csv")))
    in_memory = parts_of(ClassifierRecipe.make(data=rows()))
    assert list(from_file.train.texts) == list(in_memory.train.texts)
    assert list(from_file.validation.texts) == list(in_memory.validation.texts)
    assert set(from_file.labels) == {"good", "bad"}
    assert len(set(from_file.train.texts) & set(from_file.open_test().texts)) == 0


def test_the_settings_of_the_recipe_are_used(tmp_path: Path):
    rows().rename(columns={"text": "words", "label": "kind"}).to_csv(tmp_path / "own.csv", index=False)
    parts = parts_of(ClassifierRecipe(data=str(tmp_path / "own.csv"), text="words", target="kind", validation=0.25))
    assert len(parts.validation.texts) == 10
    with pytest.raises(ValueError, match="'text'"):
        parts_of(ClassifierRecipe(data=str(tmp_path / "own.csv"), text="text"))


def test_a_subject_is_what_the_model_would_be_given(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    text = "a bad film number 3"
    subject = run.subject(text)
    p = run.learner.outputs(TextRows([text], np.zeros(1, np.int64)))
    np.testing.assert_allclose(subject.output(run.model).double().softmax(-1).numpy(), p, atol=1e-6)


def test_a_look_shows_the_text_that_it_is_least_sure_of(own_run: Callable[[str], Any]):
    run = own_run("classifier")
    texts = ["a good film number 7", "it is all the same to me", "a bad film number 8"]
    task = TextClasses(run.recipe, run)
    task.parts = SimpleNamespace(train=None, validation=TextRows(texts, np.zeros(3, np.int64)))
    assert task.text_to_show(None, run.learner) == (texts[1], "a text that it was not trained on")
