"""Noise on inputs, activations and targets. (`noisy_weights` acts on a model, so it is no block of its own.)"""

import torch

from cutaway.blocks.noises import GaussianNoise, flip_labels, gaussian_noise, label_smoothing
from cutaway.registry import register

register(gaussian_noise, example=lambda: (gaussian_noise, torch.randn(2, 5, 3), 0.1))
register(GaussianNoise, example=lambda: (GaussianNoise(0.1), torch.randn(2, 5, 3)))
register(flip_labels, example=lambda: (flip_labels, torch.randint(7, (2, 5)), 0.5, 7))
register(label_smoothing, example=lambda: (label_smoothing, torch.rand(2, 5, 7).softmax(-1), 0.1))
