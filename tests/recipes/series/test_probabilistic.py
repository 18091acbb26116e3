"""Settings that deepar and forecaster share: what is refused."""

import pytest

from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.recipes.series.forecaster import ForecasterRecipe


def test_settings_are_checked():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        DeepARRecipe(width=0)
    with pytest.raises(ValueError, match=r"dropout must be from 0 to below 1, got 1.0"):
        ForecasterRecipe(dropout=1.0)


@pytest.mark.untyped
def test_an_unknown_likelihood_is_told():
    with pytest.raises(ValueError, match=r"likelihood must be one of auto, student-t, .* got 'normal'"):
        DeepARRecipe(likelihood="normal")
