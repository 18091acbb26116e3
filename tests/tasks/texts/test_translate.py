"""The task of translating: sources with all their translations, pairs that can be shown, and pairs that fit."""

import pytest
from trained import TRANSFORMER_SETTINGS, little_pairs

from cutaway.data.files import TextSource
from cutaway.data.text.pairs import Pairs, read_pairs
from cutaway.recipes.texts.transformer import TransformerRecipe
from cutaway.tasks.texts.translate import SourceText, choose_pair, sources_of

LINES = "".join(f"I see {i} cat{'s' * (i > 1)}.\tVeo {i} gato{'s' * (i > 1)}.\n" for i in range(1, 80))


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return read_pairs(TextSource.from_text(LINES, "cats"), "bpe-290", validation=0.2, test=0.1)


def test_every_source_has_all_its_translations():
    text = "Go.\tVe.\nGo.\tVaya.\nStop.\tPara.\nSit.\tSienta.\n" * 2
    pairs = read_pairs(TextSource.from_text(text), "bpe-300", validation=0, test=0)
    assert sources_of(pairs.train, pairs.tokenizer) == [
        SourceText("Go.", ["Ve.", "Vaya."]),
        SourceText("Stop.", ["Para."]),
        SourceText("Sit.", ["Sienta."]),
    ]
    assert [one.source for one in sources_of(pairs.train, pairs.tokenizer, 2)] == ["Go.", "Stop."]


def test_a_pair_that_can_be_read_at_a_glance(pairs: Pairs):
    chosen = choose_pair(pairs.validation)
    lengths = pairs.validation.source.lengths, pairs.validation.target.lengths - 1
    assert abs(lengths[0][chosen] - 10) + abs(lengths[1][chosen] - 10) == min(
        abs(s - 10) + abs(t - 10) for s, t in zip(*lengths, strict=True)
    )


def test_without_a_validation_part_there_are_no_metrics(tmp_path):
    recipe = TransformerRecipe(
        data=str(little_pairs(tmp_path)), **TRANSFORMER_SETTINGS | dict(validation=0.0, test=0.0)
    )
    learner = recipe.build(recipe.read())
    job = learner.job()
    assert job.evaluate(learner.model) == job.whole(learner.model) == {}
    assert "I see" in job.samples(learner.model.eval())["translations.txt"]  # of training pairs
