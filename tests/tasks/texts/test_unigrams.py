"""What counting alone reaches on a text."""

import math

import numpy as np
import pytest

from cutaway.data.text.token_files import Tokens
from cutaway.tasks.texts.unigrams import unigram_baseline


def test_by_hand():
    found = unigram_baseline(Tokens(np.array([0, 0, 0, 1])), Tokens(np.array([0, 1, 2])), vocabulary=3)
    p = [4 / 7, 2 / 7, 1 / 7]  # one more than was counted
    assert found["metrics"]["loss"] == pytest.approx(-sum(map(math.log, p)) / 3)
    assert found["metrics"]["accuracy"] == pytest.approx(1 / 3)
    assert found["rule"].startswith("to guess each token by how often it occurs")


def test_a_text_of_one_kind_of_token_is_certain():
    found = unigram_baseline(Tokens(np.zeros(10**6, np.uint16)), Tokens(np.zeros(10, np.uint16)), vocabulary=2)
    assert found["metrics"]["loss"] < 1e-5
    assert found["metrics"]["accuracy"] == 1


def test_without_validation_there_is_none():
    assert unigram_baseline(Tokens(np.array([0, 1])), None, 2) == {}
    assert unigram_baseline(Tokens(np.array([0, 1])), Tokens(np.array([], np.int64)), 2) == {}
