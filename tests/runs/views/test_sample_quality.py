"""Samples by steps and guidance: the run's own setting is marked, and without classes nothing speaks of them."""

import generative
import pytest

from cutaway.runs.views.sample_quality import sampling_scores
from cutaway.tasks.subjects import Subject

NOTHING = Subject((), "nothing")


@pytest.mark.parametrize("labelled", [True, False])
def test_scores_by_setting(labelled: bool):
    (picture,) = sampling_scores(generative.untrained_run("diffusion", labelled, validation=0.4), NOTHING)
    own = {row["setting"] for row in picture.spec()["datasets"]["rows"] if row["own"]}
    assert own == {"3 steps, guidance 1.5" if labelled else "3 steps"}
    assert ("guidance" in picture.caption) == ("Recognised" in picture.note) == labelled


def test_none_where_too_few_images_were_held_out():
    assert sampling_scores(generative.untrained_run("diffusion"), NOTHING) == []
