import numpy as np
import pytest
import torch
from torch import nn

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.one_shot import (
    class_vectors,
    draw_episodes,
    episode_errors,
    group_numbers,
    one_shot_metrics,
    pixel_baseline,
    vectors_of,
)

TARGETS = np.repeat(np.arange(6), 4)
GROUPS = np.array([0, 0, 0, 1, 1, 1])


class Flat(nn.Module):
    """Pixels as a vector of length 1; a single weight, so that it has a device."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(self.weight * x.flatten(1), dim=-1)


def rows(noise: int = 0) -> ImageRows:
    """Six classes of four images: a bright row each, and noise."""
    pixels = np.random.default_rng(0).integers(0, noise + 1, (24, 1, 6, 6)).astype(np.uint8)
    pixels[np.arange(24), 0, TARGETS] += 100
    return ImageRows(pixels, np.arange(24), TARGETS, np.array([str(i) for i in range(24)], object))


def test_episodes_ask_for_other_images_of_classes_of_one_group():
    episodes = draw_episodes(TARGETS, GROUPS[TARGETS])
    assert episodes is not None
    for examples, questions in zip(*episodes, strict=True):
        assert (TARGETS[examples] == TARGETS[questions]).all()
        assert (examples != questions).all()
        assert len(set(TARGETS[examples])) == 3
        assert len(set(GROUPS[TARGETS[examples]])) == 1
    assert set(episodes.examples.flatten()) == set(range(24))
    assert draw_episodes(np.arange(5), np.zeros(5, np.int64)) is None  # no class has two images


def test_errors_counted_by_hand():
    z = torch.eye(4)[[0, 0, 1, 1, 2, 3]]  # the third class is not recognised
    episodes = draw_episodes(np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, np.int64))
    assert episodes is not None
    wrong = []
    for examples, questions in zip(*episodes, strict=True):
        alike = z[questions] @ z[examples].T
        wrong.append((alike.argmax(1) != torch.arange(3)).float().mean().item())
    assert episode_errors(z, episodes) == pytest.approx(np.mean(wrong))
    assert 0 < episode_errors(z, episodes) < 0.5


def test_clear_images_are_told_apart_and_metrics_say_so():
    found = one_shot_metrics(Flat(), rows(20), GROUPS, 0)
    assert found["one_shot_error"] == 0
    assert found["ways"] == 3
    assert found["alike_same"] > 0.9 > found["alike_different"]


def test_the_baseline_is_the_nearest_by_pixels():
    images = rows(150)
    episodes = draw_episodes(TARGETS, GROUPS[TARGETS])
    assert episodes is not None
    x = nn.functional.avg_pool2d(torch.from_numpy(images.pixels()).float() / 255, 2).flatten(1)
    wrong = []
    for examples, questions in zip(*episodes, strict=True):
        wrong.append((torch.cdist(x[questions], x[examples]).argmin(1) != torch.arange(3)).float().mean().item())
    assert pixel_baseline(images, episodes)["metrics"]["one_shot_error"] == pytest.approx(np.mean(wrong))


def test_averaged_vectors_have_length_one_and_repeat():
    one, two = (vectors_of(Flat(), rows(50), 3) for _ in range(2))
    assert torch.equal(one, two)
    torch.testing.assert_close(one.norm(dim=1), torch.ones(24))
    assert not torch.allclose(one, vectors_of(Flat(), rows(50)))


def test_class_vectors():
    z = nn.functional.normalize(torch.randn(24, 5), dim=1)
    centres = class_vectors(z, TARGETS, 6)
    torch.testing.assert_close(centres[2], nn.functional.normalize(z[8:12].mean(0), dim=0))


def test_groups_by_the_folders_above():
    assert group_numbers(("a/x", "a/y", "b/x")).tolist() == [0, 0, 1]
    assert group_numbers(("x", "y")).tolist() == [0, 0]
