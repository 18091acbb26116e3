r"""Wrappers: modules that hold one other and act for it, as `torch.compile` and distributed training make them."""

import torch
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

# Wrappers that name their inner module so that no one else would, and wrappers known by their class.
INNER_NAMES = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module")
_INNER_BY_CLASS = {DistributedDataParallel: "module", DataParallel: "module", AveragedModel: "module"}


def inner_name(module: nn.Module) -> str | None:
    """The attribute under which a wrapper keeps the module it wraps; None if it is no wrapper.

    A class of your own says so by an attribute: ``wraps = "base"``.
    """
    by_class = (name for wrapper, name in _INNER_BY_CLASS.items() if isinstance(module, wrapper))
    candidates = (getattr(type(module), "wraps", None), *by_class, *INNER_NAMES)
    return next((name for name in candidates if name in module._modules), None)


def kind_of(module: nn.Module) -> str:
    """The class of a module; of one made by TorchScript, the class that it was made from."""
    return str(module.original_name) if isinstance(module, torch.jit.ScriptModule) else type(module).__name__


__all__ = ["INNER_NAMES", "inner_name", "kind_of"]
