"""Scores of samples: real images, copies, noise, and one image again and again."""

import numpy as np
import torch

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.sample_scores import gaussian_samples, nearest_rows, score_samples


def rows(count: int, seed: int) -> ImageRows:
    """Images on a curve: a bright row that wanders, of a random grey."""
    draw = np.random.Generator(np.random.Philox(seed))
    x = np.zeros((count, 1, 8, 4), np.uint8)
    x[np.arange(count), 0, draw.integers(0, 8, count)] = draw.integers(100, 255, (count, 1))
    every = np.arange(count)
    return ImageRows(x, every, np.zeros(count, np.int64), every.astype(object))


def test_real_images_copies_noise_and_repetition():
    train, held, more = rows(300, 0), rows(100, 1), rows(100, 2)
    as_images = lambda some: torch.from_numpy(some.pixels()).float() / 255
    real = score_samples(as_images(more), train, held)
    copies = score_samples(as_images(train)[:100], train, held)
    noise = score_samples(torch.rand(100, 1, 8, 4), train, held)
    same = score_samples(as_images(more)[:1].repeat(100, 1, 1, 1), train, held)
    assert real["precision"] > 0.9
    assert real["coverage"] > 0.8
    assert 0.5 < real["novelty"] < 2
    assert copies["novelty"] == 0
    assert noise["precision"] == 0
    assert noise["novelty"] > 5
    assert same["coverage"] < 0.3


def test_gaussian_samples_have_the_mean_of_the_data():
    train = rows(300, 0)
    made = gaussian_samples(train, 4000, 0)
    assert made.shape == (4000, 1, 8, 4)
    assert made.min() >= 0
    # cut to 0–1 the mean moves up a little, but each pixel's share stays in its order of size
    assert (made.mean(0) - torch.from_numpy(train.pixels()).float().mean(0) / 255).abs().max() < 0.1


def test_nearest_by_hand():
    known = torch.tensor([[0.0], [5.0], [9.0]])
    assert nearest_rows(torch.tensor([[4.0], [8.0]]), known, 2).tolist() == [[1, 0], [2, 1]]
