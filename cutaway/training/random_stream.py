r"""A random stream for training alone (dropout, noise), apart from torch's global random numbers.

    with stream: …         inside, torch draws from the stream; outside, from its global generator

So what evaluation, sampling, looking or a callback draws does not change the training, nor the other way round.
"""

from typing import Any

import torch
from torch import Tensor


class RandomStream:
    """Torch's random numbers on the CPU and on one device, from a seed. A pass that raises leaves it as it was."""

    def __init__(self, seed: int, device: torch.device | None = None) -> None:
        self._modules: dict[str, Any] = {"cpu": torch}
        if device is not None and device.type != "cpu":
            self._modules[device.type] = torch.get_device_module(device)
        self._states: dict[str, Tensor] = {
            kind: torch.Generator(kind).manual_seed(seed).get_state() for kind in self._modules
        }
        self._outside: dict[str, Tensor] = {}

    def __enter__(self) -> None:
        self._outside = self._now()
        self._set(self._states)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._states = self._now()
        self._set(self._outside)

    def _now(self) -> dict[str, Tensor]:
        return {kind: module.get_rng_state() for kind, module in self._modules.items()}

    def _set(self, states: dict[str, Tensor]) -> None:
        for kind, module in self._modules.items():
            module.set_rng_state(states[kind])

    def tensors(self) -> dict[str, Tensor]:
        """The state of the stream, for a checkpoint."""
        return dict(self._states)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restores the state of the stream; a device that the checkpoint does not know keeps its seed."""
        self._states |= {kind: state for kind, state in tensors.items() if kind in self._states}
