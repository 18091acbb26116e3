"""Skip connections, dropout and noise.

(`dropping`, `monte_carlo` and `noisy_weights` act on whole models, so they are no blocks of their own.)
"""

import torch

from cutaway.blocks.dense.affine import Dense
from cutaway.blocks.depth.dropouts import Dropout, dropout
from cutaway.blocks.depth.noises import GaussianNoise, flip_labels, gaussian_noise, label_smoothing
from cutaway.blocks.depth.skips import DenselyConnected, Residual, Skip, SkipAttention
from cutaway.registry import register

register(Residual, example=lambda: (Residual(Dense(3, 3, torch.tanh)), torch.randn(2, 5, 3)))
register(Skip, example=lambda: (Skip(Dense(3, 7, torch.tanh), "concatenate"), torch.randn(2, 5, 3)))
register(SkipAttention, example=lambda: (SkipAttention(3), torch.randn(2, 5, 3), torch.randn(2, 5, 3)))
register(
    DenselyConnected,
    example=lambda: (DenselyConnected([Dense(3, 2, torch.tanh), Dense(5, 2, torch.tanh)]), torch.randn(2, 5, 3)),
)

register(dropout, example=lambda: (dropout, torch.randn(2, 5, 3), 0.25))
register(Dropout, example=lambda: (Dropout(0.25), torch.randn(2, 5, 3)))

register(gaussian_noise, example=lambda: (gaussian_noise, torch.randn(2, 5, 3), 0.1))
register(GaussianNoise, example=lambda: (GaussianNoise(0.1), torch.randn(2, 5, 3)))
register(flip_labels, example=lambda: (flip_labels, torch.randint(7, (2, 5)), 0.5, 7))
register(label_smoothing, example=lambda: (label_smoothing, torch.rand(2, 5, 7).softmax(-1), 0.1))
