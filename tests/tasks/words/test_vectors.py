"""The baseline of word vectors: by hand, and by its definition."""

import numpy as np
import pytest

from cutaway.data.text.token_files import Tokens
from cutaway.recipes.words.wordvectors import WordVectorsRecipe
from cutaway.tasks.words.vectors import frequency_baseline


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
