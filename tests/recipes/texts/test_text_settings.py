"""What the recipes for text share: their settings and checks."""

import dataclasses

import pytest

from cutaway.recipes.settings import headings
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.recipes.texts.text_settings import TextRecipe
from cutaway.recipes.texts.transformer import TransformerRecipe

KINDS = (GPTRecipe, BERTRecipe, TransformerRecipe)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_are_shared(kind: type[TextRecipe]):
    shared = {field.name for field in dataclasses.fields(TextRecipe)}
    assert shared < {field.name for field in dataclasses.fields(kind)}
    assert all(headings(kind)[name] == headings(TextRecipe)[name] for name in shared)
    assert kind().optimizer == "muon"
    assert kind().smaller().startswith(f"lower batch={kind().batch} (a higher accumulate=1 makes up for it), context=")
