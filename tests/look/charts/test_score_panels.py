"""Panels of scores: every number once, the chosen setting, the goals, and what cannot be drawn."""

import pytest
from look.rendered import words_of

from cutaway.look.charts.score_panels import score_panels

SCORES = {"5 steps": {"distance": 3.25, "recognised": 0.9}, "25 steps": {"distance": 1.5}}


def test_every_score_is_a_row_and_the_chosen_setting_is_marked():
    picture = score_panels(SCORES, goals={"distance": 1.0}, chosen="25 steps", title="Samples", caption="Look.")
    assert [(row["setting"], row["score"], row["value"], row["own"]) for row in picture.spec()["datasets"]["rows"]] == [
        ("5 steps", "distance", 3.25, False),
        ("5 steps", "recognised", 0.9, False),
        ("25 steps", "distance", 1.5, True),
    ]
    assert picture.alt == "Bars of 2 scores for 2 settings: distance 3.25 and 1.5; recognised 0.9."


def test_it_is_drawn_with_its_words():
    picture = score_panels(SCORES, goals={"distance": 1.0}, title="Samples")
    assert {"5 steps", "25 steps", "distance", "recognised", "3.25", "1.5", "0.9"} <= set(words_of(picture))


def test_nothing_cannot_be_drawn():
    with pytest.raises(ValueError, match="at least one score of one setting, got none"):
        score_panels({}, title="Samples")
    with pytest.raises(ValueError, match="at least one score of one setting, got none"):
        score_panels({"5 steps": {}}, title="Samples")
