"""Dropout. (`dropping` and `monte_carlo` act on whole models, so they are no blocks of their own.)"""

import torch

from cutaway.blocks.dropouts import Dropout, dropout
from cutaway.registry import register

register(dropout, example=lambda: (dropout, torch.randn(2, 5, 3), 0.25))
register(Dropout, example=lambda: (Dropout(0.25), torch.randn(2, 5, 3)))
