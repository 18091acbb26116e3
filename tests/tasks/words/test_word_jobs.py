"""What a run of word vectors learns from and how its loss is measured: by hand."""

import numpy as np
import pytest

from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import Stretch
from cutaway.recipes.words.wordvectors import WordVectorsRecipe
from cutaway.tasks.words.word_jobs import examples_of, frequency_baseline


def test_examples_of_a_stretch_by_hand():
    stretch = Stretch(np.array([7, 8, 9]), np.array([0, 1, 0]), 0)
    (found,) = examples_of(stretch, window=2, skip_gram=False)
    contexts = [sorted(c[m].tolist()) for c, m in zip(found.contexts, found.mask)]
    assert contexts == [[8], [7, 9], [8]]
    assert found.targets.tolist() == [7, 8, 9]
    (pairs,) = examples_of(stretch, window=2, skip_gram=True)
    assert list(zip(pairs.contexts.flatten().tolist(), pairs.targets.tolist())) == [(8, 7), (7, 8), (9, 8), (8, 9)]
    assert examples_of(Stretch(np.array([7]), np.array([1]), 0), 2, skip_gram=False) == []


def test_the_baseline_is_the_entropy_where_the_output_is_a_softmax():
    tokens, counts = Tokens(np.array([0, 0, 0, 1], np.uint32)), np.array([75, 25])
    recipe = WordVectorsRecipe(output="full", sample=0.0)
    found = frequency_baseline(tokens, counts, recipe)
    assert found["metrics"]["loss"] == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert frequency_baseline(tokens, counts, WordVectorsRecipe(output="nce")) == {}
    assert frequency_baseline(None, counts, recipe) == {}


def test_the_baseline_of_negative_sampling_is_the_least_that_a_constant_score_reaches():
    tokens, counts = Tokens(np.array([0, 0, 0, 1], np.uint32)), np.array([75, 25])
    best = frequency_baseline(tokens, counts, WordVectorsRecipe(sample=0.0))["metrics"]["loss"]
    q = counts**0.75 / (counts**0.75).sum()
    for b in np.random.default_rng(0).normal(size=(50, 2)):
        loss = (0.75 * np.logaddexp(0, -b[0]) + 0.25 * np.logaddexp(0, -b[1])) + 5 * (q * np.logaddexp(0, b)).sum()
        assert best <= loss
