"""Features of a text by hand, correlations against numpy, and the unit that follows one."""

import numpy as np
import pytest

from cutaway.look.recurrence.unit_features import best_units, mark_features, unit_correlations, unit_followers


def test_features_by_hand():
    marked = mark_features(["ab", ' "', "c", '" (', "[", "d\n", "e"])
    assert marked["inside quotes"].tolist() == [0, 1, 1, 0, 0, 0, 0]
    assert marked["length of the line"].tolist() == [2, 4, 5, 8, 9, 0, 1]
    assert marked["inside brackets"].tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert marked["length of the word"].tolist() == [2, 0, 1, 0, 0, 0, 1]


def test_a_stray_quote_ends_with_its_line():
    assert mark_features(list('"a\nb'))["inside quotes"].tolist() == [1, 1, 0, 0]


def test_correlations_are_numpys():
    rng = np.random.default_rng(0)
    states, feature = rng.normal(size=(50, 7)), rng.normal(size=50)
    states[:, 3] = 2.0  # a constant follows nothing
    r = unit_correlations(states, feature)
    expected = [0.0 if u == 3 else np.corrcoef(states[:, u], feature)[0, 1] for u in range(7)]
    np.testing.assert_allclose(r, expected, atol=1e-12)


def test_the_unit_that_follows_a_feature_is_found():
    tokens = list('say "yes" or "no" (or\nboth)\n' * 8)
    rng = np.random.default_rng(0)
    states = {"cell of layer 0": rng.normal(size=(len(tokens), 20)), "hidden": rng.normal(size=(len(tokens), 20))}
    states["cell of layer 0"][:, 11] = -3 * mark_features(tokens)["length of the line"] + 1
    name, unit, r = best_units(states, mark_features(tokens)["length of the line"])[0]
    assert (name, unit) == ("cell of layer 0", 11)
    assert r == pytest.approx(-1)
    picture = unit_followers(states, tokens)
    assert "length of the line: unit 11 of the cell of layer 0, r = -1" in picture.alt.replace("−", "-")
    rows = picture.spec()["datasets"]["panel1"]  # the fit lies on the feature
    feature, fit = ([row["value"] for row in rows if row["line"] == which] for which in ("feature", "unit"))
    np.testing.assert_allclose(feature, fit, atol=1e-9)


def test_a_text_without_features_is_refused():
    with pytest.raises(ValueError, match="a text must have quotes, lines, brackets or words to follow, got none"):
        unit_followers({"cell": np.zeros((1, 3))}, ["a"])
