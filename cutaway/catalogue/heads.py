"""Heads by task."""

import torch

from cutaway.blocks.heads import Head, Task
from cutaway.registry import register

register(Head, example=lambda: (Head(3, Task("multi-class", outputs=7)), torch.randn(2, 5, 3)))
