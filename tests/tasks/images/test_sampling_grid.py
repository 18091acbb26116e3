"""Scores of samples: by hand, for the data itself, for copies, for one image again and again."""

import generative
import numpy as np
import pytest
import torch

from cutaway.tasks.images.sampling_grid import (
    SampleJudge,
    Setting,
    sampling_grid,
    settings_to_try,
    spread_in_classes,
)


@pytest.fixture
def clouds() -> tuple[torch.Tensor, torch.Tensor]:
    """600 points of two classes around (0, …) and (5, …), and their classes."""
    torch.manual_seed(0)
    classes = torch.arange(600) % 2
    return torch.randn(600, 12) + 5.0 * classes[:, None], classes


def judge_of(clouds: tuple[torch.Tensor, torch.Tensor]) -> SampleJudge:
    x, classes = clouds
    return SampleJudge(x[:400], classes[:400], x[400:500], classes[400:500])


def test_distances_within_classes_by_hand():
    x = torch.tensor([[0.0, 0], [3, 4], [10, 0], [10, 2], [10, 4], [99, 99]])
    classes = torch.tensor([0, 0, 1, 1, 1, -1])
    assert spread_in_classes(x, classes) == pytest.approx((5 + (2 + 2 + 4) / 3) / 2)
    assert spread_in_classes(x[:2], None) == 5
    assert np.isnan(spread_in_classes(x[:1], None))


def test_more_of_the_data_scores_as_the_data(clouds):
    found = judge_of(clouds).scores(clouds[0][500:], clouds[1][500:])
    assert found["recognised"] == 1
    for name in ("distance", "variety", "novelty"):
        assert found[name] == pytest.approx(1, abs=0.4), name


def test_copies_are_not_new(clouds):
    found = judge_of(clouds).scores(clouds[0][:100], clouds[1][:100])
    assert found["novelty"] == pytest.approx(0, abs=1e-3)


def test_one_image_again_and_again_has_no_variety_and_is_far_from_the_data(clouds):
    judge = judge_of(clouds)
    found = judge.scores(clouds[0][:1].expand(100, -1), torch.zeros(100, dtype=torch.long))
    assert found["variety"] == 0
    assert found["distance"] > 10


def test_classes_that_were_not_asked_for_are_not_recognised(clouds):
    x, classes = clouds
    found = judge_of(clouds).scores(x[500:], 1 - classes[500:])
    assert found["recognised"] == 0
    assert "recognised" not in judge_of(clouds).scores(x[500:], None)


def test_without_classes_only_steps_are_tried():
    assert settings_to_try(3, 1.5, 1000, False) == [Setting(3, None), Setting(5, None), Setting(10, None)]
    assert settings_to_try(5, 1.0, 4, True) == [Setting(4, 1.0), Setting(5, 1.0), Setting(5, 3.0)]


@pytest.mark.parametrize("labelled", [True, False])
def test_of_a_run(labelled: bool):
    found = sampling_grid(generative.untrained_run("diffusion", labelled, validation=0.4).learner)
    assert len(found) == (5 if labelled else 3)
    for one, scores in found.items():
        assert ("recognised" in scores) == labelled == (one.guidance is not None)
        assert all(np.isfinite(list(scores.values())))


def test_too_few_held_out_images_say_nothing():
    assert sampling_grid(generative.untrained_run("diffusion").learner) == {}
