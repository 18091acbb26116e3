"""The judge of images tells things from colour mush, noise and blurs, with labels and without."""

from functools import lru_cache

import numpy as np
import pytest
import torch

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images import judge as image_judge
from cutaway.tasks.images.judge import judge_of
from cutaway.tasks.images.sample_scores import gaussian_samples, score_samples


@lru_cache
def scenes(count: int, seed: int, labelled: bool = True) -> ImageRows:
    """Discs and bars of random colours before a shaded sky, 24 × 24."""
    draw = np.random.Generator(np.random.Philox(seed))
    rows, columns = np.mgrid[:24, :24]
    x = np.zeros((count, 3, 24, 24))
    for i in range(count):
        x[i] = (draw.uniform(0.3, 0.8, 3)[:, None, None] + 0.012 * rows).clip(0, 1)
        r, c, size = draw.uniform(8, 16), draw.uniform(8, 16), draw.uniform(4, 7)
        disc, bar = np.hypot(rows - r, columns - c) < size, (abs(rows - r) < 3) & (abs(columns - c) < 10)
        x[i] = np.where(disc if i % 2 else bar, draw.uniform(0, 1, 3)[:, None, None], x[i])
    targets = np.arange(count) % 2 if labelled else np.full(count, -1)
    return ImageRows((255 * x).astype(np.uint8), np.arange(count), targets, np.arange(count).astype(object))


def pixels(rows: ImageRows) -> torch.Tensor:
    return torch.from_numpy(rows.pixels()).float() / 255


@pytest.mark.parametrize("labelled", [True, False])
def test_mush_noise_and_blurs_score_well_below_held_out_images(labelled: bool):
    train, held, more = scenes(400, 0, labelled), scenes(200, 1, labelled), pixels(scenes(100, 2, labelled))
    torch.manual_seed(0)
    marks = {
        "real": more,
        "gaussian": gaussian_samples(train, 100, 0),
        "noise": torch.rand_like(more),
        "colours": more.mean((2, 3), keepdim=True) + 0.1 * torch.randn_like(more),
        "blur": torch.nn.functional.interpolate(torch.nn.functional.avg_pool2d(more, 6), (24, 24), mode="bilinear"),
    }
    found = {name: score_samples(x.clamp(0, 1), train, held) for name, x in marks.items()}
    assert found["real"]["precision"] > 0.7
    assert found["real"]["real_precision"] > 0.7
    assert found["real"]["coverage"] > 0.5
    for name in ("gaussian", "noise", "colours", "blur"):
        assert found[name]["precision"] < 0.5 * found["real"]["precision"], name
        assert found[name]["coverage"] < found["real"]["coverage"], name


def test_classes_are_recognised_only_in_whole_images():
    train, more = scenes(400, 0), scenes(100, 2)
    judge = judge_of(train)
    classes = torch.from_numpy(more.targets)
    assert judge.classes == 2
    assert judge.recognised(pixels(more), classes) > 0.8
    assert judge.recognised(pixels(more), 1 - classes) < 0.2
    assert judge.recognised(gaussian_samples(train, 100, 0), classes) < 0.4
    held = scenes(100, 3)
    marks = score_samples(pixels(more), train, held, classes)
    assert marks["recognised"] > 0.8
    assert marks["real_recognised"] > 0.8


def test_it_says_what_it_learned_is_trained_once_and_leaves_random_numbers_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(image_judge, "_STEPS", 5)
    train = scenes(60, 0)
    torch.manual_seed(1)
    expected = torch.rand(())
    torch.manual_seed(1)
    judge = judge_of(train)
    assert torch.rand(()) == expected
    assert judge_of(train) is judge
    again = judge_of(train.take(slice(None)))  # the same images anew
    assert again is not judge
    torch.testing.assert_close(again.features(pixels(train)), judge.features(pixels(train)), rtol=0, atol=0)
    assert judge.words.startswith("a small network that learned the 2 classes of the training images")
    assert "without labels" in judge_of(scenes(20, 0, labelled=False)).words


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 5), (3, 5, 3), (3, 130, 90)])
def test_images_of_any_size(shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(image_judge, "_STEPS", 5)
    draw = np.random.Generator(np.random.Philox(0))
    store = draw.integers(0, 255, (12, *shape), np.uint8)
    rows = ImageRows(store, np.arange(12), np.full(12, -1), np.arange(12).astype(object))
    assert judge_of(rows).features(pixels(rows)).isfinite().all()
