r"""The device that a run computes on, and the precision of its products there."""

import torch


def find_device(name: str) -> torch.device:
    """The device of that name; auto takes an accelerator if there is one."""
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if name == "auto":
        return found or torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be auto, cpu, cuda, cuda:N or mps, got {name!r}; try --device cpu") from None
    if device.type != "cpu" and (found is None or found.type != device.type):
        raise ValueError(f"device must be one that this machine has, got {name!r}; try --device auto")
    if device.type != "cpu" and (device.index or 0) >= torch.accelerator.device_count():
        count = torch.accelerator.device_count()
        raise ValueError(f"device must be one that this machine has, got {name!r} of {count}; they count from 0")
    return device


def find_precision(name: str, device: torch.device) -> torch.dtype | None:
    """What products are computed in: bfloat16 on a GPU that has units for it, else (None) as the weights are."""
    able = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if name == "bfloat16" and not able:
        raise ValueError(
            f"precision=bfloat16 needs a device with units for it, got {device.type}, where it is slower than float32 "
            "or missing; leave it at auto"
        )
    return torch.bfloat16 if able and name in ("auto", "bfloat16") else None
