"""Cutaway: deep learning with the covers off.

>>> import cutaway as cut
>>> cut.blocks.relu(-1.0)
tensor(0.)
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public names and where they live. Nothing is imported before it is used: `import cutaway` does not import torch.
_PARTS = ("blocks", "catalogue", "data", "hub", "look", "models", "recipes", "runs", "tasks", "training", "tuning")
_NAMES = {
    "Seen": "inside.results",
    "Tap": "inside.taps",
    "abilities": "runs.abilities",
    "adapter": "training.adapters.bottlenecks",
    "addresses": "inside.tracing",
    "attack": "training.attacks.attacking",
    "flow": "look.flows",
    "freeze": "training.adapters.freezing",
    "from_pretrained": "hub",
    "graph": "look.graphs",
    "load": "runs.execution",
    "load_adapter": "hub",
    "lora": "training.adapters.low_rank_layers",
    "merge": "training.adapters.merging",
    "patch": "inside.tracing",
    "record": "look.graphs",
    "register": "registry",
    "remove_adapter": "training.adapters.named_adapters",
    "save_adapter": "hub",
    "save_pretrained": "hub",
    "trace": "inside.tracing",
    "train": "runs.execution",
    "unmerge": "training.adapters.merging",
    "use": "training.adapters.named_adapters",
    "tune": "runs.tuning",
}
__all__ = ["__version__", *_PARTS, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"cutaway.{name}")
    if name in _NAMES:
        value = getattr(import_module(f"cutaway.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'cutaway' has no attribute {name!r}; it has: {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
