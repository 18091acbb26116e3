"""The learner of the recipe tagger: its cost by hand, words that are hidden, and data without a validation part."""

import numpy as np
import pytest
import torch
from trained import TAGGER_SETTINGS, little_treebank

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.models import Tagger
from cutaway.recipes.texts.tagger import TaggerRecipe
from cutaway.tasks.texts.word_tagger import tag_cost, tag_probabilities

TRAIN = [Tagged(("the", "dog", "barks"), ("D", "N", "V")), Tagged(("the", "barks", "of", "dogs"), ("D", "N", "P", "N"))]
LEXICON = Lexicon.from_sentences([s.words for s in TRAIN], [s.tags for s in TRAIN])


@pytest.fixture
def model() -> Tagger:
    torch.manual_seed(0)
    sizes = dict(word_width=4, letter_width=3, filters=5, affix_width=2, width=6)
    return Tagger(tags=len(LEXICON.tags), **{k: v for k, v in LEXICON.sizes.items() if v}, **sizes).eval()


def test_the_cost_is_the_mean_over_words_with_a_tag(model):
    sentences = EncodedSentences([Tagged(("the", "dog"), ("D", None)), TRAIN[0]], LEXICON)
    batch = sentences.batch(np.array([0, 1]))
    p = tag_probabilities(model, sentences)
    ids = LEXICON.tag_ids
    expected = -np.mean(np.log([p[0][0, ids["D"]], *(p[1][t, ids[tag]] for t, tag in enumerate("DNV"))]))
    assert tag_cost(model, batch).item() == pytest.approx(expected, rel=1e-5)


def test_training_hides_rare_words(model):
    """With hide → ∞ every word is hidden: as if all were unknown."""
    hidden = EncodedSentences(TRAIN, LEXICON, hide=1e9).batch(np.array([0]))
    model.train()
    model.spec = model.spec.but(dropout=0.0)
    unknown = hidden._replace(words=np.zeros_like(hidden.words), hide=np.zeros_like(hidden.hide))
    assert tag_cost(model, hidden).item() == pytest.approx(tag_cost(model, unknown).item())
    assert tag_cost(model.eval(), hidden).item() != pytest.approx(tag_cost(model, unknown).item())


def test_without_a_validation_part_there_are_no_metrics(tmp_path):
    recipe = TaggerRecipe(data=str(little_treebank(tmp_path)), **TAGGER_SETTINGS | dict(validation=0.0, test=0.0))
    learner = recipe.build(recipe.read())
    job = learner.job()
    assert job.evaluate(learner.model) == job.whole(learner.model) == {}
    assert "baseline" not in job.data
