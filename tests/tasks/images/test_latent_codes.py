"""Codes near those of training images, and codes of a class."""

import generative
import numpy as np
import torch

from cutaway.tasks.images.latent_codes import CodedImages


def test_codes_of_a_class_have_its_mean_and_covariance():
    torch.manual_seed(0)
    own = torch.randn(4000, 2) @ torch.tensor([[2.0, 1.0], [0.0, 0.5]]) + torch.tensor([5.0, -5.0])
    coded = CodedImages(torch.cat([own, torch.randn(100, 2)]), np.repeat([1, 0], [4000, 100]))
    drawn = coded.of_classes(np.ones(20_000, int), torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.mean(0), own.mean(0), atol=0.05, rtol=0)
    torch.testing.assert_close(drawn.T.cov(), own.T.cov(), atol=0.1, rtol=0)


def test_without_scatter_codes_are_those_of_training_images_of_the_class():
    run = generative.little_run("autoencoder")
    coded = CodedImages.of(run.model, run.task.parts.train)
    with torch.no_grad():
        made = coded.scattered(run.model, 6, np.full(6, 1), torch.Generator().manual_seed(0), 0.0, False)
        known = run.model.decode(coded.codes[torch.from_numpy(coded.targets == 1)]).clamp(0, 1)
    assert torch.cdist(made.flatten(1), known.flatten(1)).amin(1).max() < 1e-4


def test_flipped_bits_are_bits():
    coded = CodedImages(torch.zeros(10, 1000), np.zeros(10, int))
    seen = []

    class Decoder:
        device = torch.device("cpu")

        def decode(self, z: torch.Tensor) -> torch.Tensor:
            seen.append(z)
            return z.view(3, 1, 10, 100)

    coded.scattered(Decoder(), 3, None, torch.Generator().manual_seed(0), 0.1, True)
    assert set(seen[0].unique().tolist()) == {0.0, 1.0}
    assert 0.07 < seen[0].mean() < 0.13
