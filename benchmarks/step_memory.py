"""The memory of a training step: weights, what the optimizer keeps, and the peak of what the step itself allocates.

The peak of a process says little of small models, as torch alone takes hundreds of megabytes. So torch's profiler notes
every allocation and release of one step, of which the largest sum counts; inputs are left out.
"""

import os
from collections.abc import Callable
from itertools import accumulate
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # the profiler says nothing

import torch
from torch import Tensor, nn


def allocated(step: Callable[[], Any]) -> float:
    """The most megabytes that a function holds beyond what was there before."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return max(accumulate((event.nbytes() for event in events), initial=0)) / 1e6


def step_memory(model: nn.Module | None, optimizer: torch.optim.Optimizer | None, step: Callable[[], Any]) -> float:
    """Megabytes of the weights, of the optimizer's state and of a step at its peak."""
    weights = [] if model is None else [*model.parameters(), *model.buffers()]
    state = [] if optimizer is None else [x for one in optimizer.state.values() for x in one.values()]
    kept = sum(x.numel() * x.element_size() for x in [*weights, *state] if isinstance(x, Tensor)) / 1e6
    return kept + allocated(step)
