"""What the recipes for text share: their settings, checks, and the data of a run read again."""

import dataclasses
from types import SimpleNamespace

import pytest

from cutaway.recipes.settings import headings
from cutaway.recipes.texts.bert import BERTRecipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.recipes.texts.text_settings import TextRecipe, held_out
from cutaway.recipes.texts.transformer import TransformerRecipe

KINDS = (GPTRecipe, BERTRecipe, TransformerRecipe)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_are_shared(kind: type[TextRecipe]):
    shared = {field.name for field in dataclasses.fields(TextRecipe)}
    assert shared < {field.name for field in dataclasses.fields(kind)}
    assert all(headings(kind)[name] == headings(TextRecipe)[name] for name in shared)
    assert kind().optimizer == "muon"
    assert kind().smaller().startswith(f"lower batch={kind().batch} (a higher accumulate=1 makes up for it), context=")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "depth must be at least 1, got 0; try depth="),
        ({"test": 1.5}, "test must be from 0 to below 1, got 1.5"),
        ({"width": 10, "heads": 4}, "width must be a multiple of heads, got width=10, heads=4; try heads=5"),
        (
            {"validation": 0.0, "patience": 2},
            "patience needs data to evaluate on, got patience=2 with validation=0; set",
        ),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_settings(kind: type[TextRecipe], settings: dict[str, float], message: str):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


def test_the_shortest_context():
    assert GPTRecipe(context=1).context == 1
    for kind in (BERTRecipe, TransformerRecipe):
        with pytest.raises(ValueError, match="context must be at least 3, got 0; try context="):
            kind(context=0)


def test_the_data_of_a_run_is_in_its_own_tokens():
    ours, others = SimpleNamespace(key="ours"), SimpleNamespace(key="others")

    @dataclasses.dataclass(frozen=True)
    class Plain(TextRecipe):
        def dataset(self, tokenizer=None):
            return SimpleNamespace(tokenizer=tokenizer or ours, fingerprint="same", train=[1], validation=None)

    seen = []
    run = SimpleNamespace(tokenizer=others, expect_same_data=seen.append)
    assert Plain().dataset_of(run).tokenizer is others
    assert seen == ["same"]
    assert held_out(Plain().dataset()) == [1]
