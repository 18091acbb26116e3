"""The texts of a recipe: a file and the same table in memory give the same parts."""

from pathlib import Path

import pandas as pd
import pytest

from cutaway.recipes.texts.classifier import ClassifierRecipe
from cutaway.tasks.texts.text_parts import read_parts


def rows() -> pd.DataFrame:
    return pd.DataFrame({"text": [f"review number {i}" for i in range(40)], "label": ["good", "bad"] * 20})


@pytest.mark.untyped
def test_a_file_and_a_table_in_memory_give_the_same_parts(tmp_path: Path):
    rows().to_csv(tmp_path / "reviews.csv", index=False)
    from_file = read_parts(ClassifierRecipe(data=str(tmp_path / "reviews.csv")))
    in_memory = read_parts(ClassifierRecipe.make(data=rows()))
    assert list(from_file.train.texts) == list(in_memory.train.texts)
    assert list(from_file.validation.texts) == list(in_memory.validation.texts)
    assert set(from_file.labels) == {"good", "bad"}
    assert len(set(from_file.train.texts) & set(from_file.open_test().texts)) == 0


def test_the_settings_of_the_recipe_are_used(tmp_path: Path):
    rows().rename(columns={"text": "words", "label": "kind"}).to_csv(tmp_path / "own.csv", index=False)
    parts = read_parts(ClassifierRecipe(data=str(tmp_path / "own.csv"), text="words", target="kind", validation=0.25))
    assert len(parts.validation.texts) == 10
    with pytest.raises(ValueError, match="'text'"):
        read_parts(ClassifierRecipe(data=str(tmp_path / "own.csv"), text="text"))
