r"""A wrapper around a frozen module, with small trained parts by name, any number of which are in use.

    y = f(x),  then changed by each of the parts in use

The wrapper is transparent: what the module is called stands for both, its attributes and the names of its tensors are
those of the module inside. Notes: N3 §8 (adapters).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor, nn

from cutaway.overriding import override


class ByName(nn.Module):
    """Modules by name. (torch.nn.ModuleDict has names of its own, and refuses "keys" and "values".)"""

    def __init__(self, modules: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __len__(self) -> int:
        return len(self._modules)


class Adapted(nn.Module):
    """A frozen ``base`` with trained parts, of which those named in ``active`` are in use. Kinds derive from it.

    In a state dict the base's tensors keep the names that they have without the wrapper.
    """

    wraps = "base"  # what the module is called stands for both
    holds = "adapters"  # the child that has the parts by name

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.add_module(self.holds, ByName())
        self.active: tuple[str, ...] = ()
        self.train(base.training)
        self._register_state_dict_hook(_without_base)
        self.register_load_state_dict_pre_hook(_with_base)

    @property
    def held(self) -> ByName:
        """What was added, by name."""
        held = self._modules[self.holds]
        assert isinstance(held, ByName)
        return held

    def put(self, name: str, part: nn.Module) -> None:
        """One more part, in use from now on."""
        self.held.add_module(name, part.train(self.training))
        self.active = (*self.active, name)

    def remove(self, name: str) -> None:
        """Takes a part off."""
        delattr(self.held, name)
        self.active = tuple(other for other in self.active if other != name)

    def choose(self, names: Iterable[str]) -> None:
        """The parts in use, which alone can be trained, are those of these names that it has."""
        self.active = tuple(name for name in names if name in self.held)
        for name, part in self.held.named_children():
            part.requires_grad_(name in self.active)

    @override
    def __getattr__(self, name: str) -> Any:
        """What the wrapper has not is the base's: its weight, its sizes."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("base"), name)

    @override
    def extra_repr(self) -> str:
        return f"in use: {', '.join(self.active) or 'none'}"


def _without_base(module: nn.Module, state: dict[str, Tensor], prefix: str, _: object) -> None:
    inner = f"{prefix}base."
    for name in [name for name in state if name.startswith(inner)]:
        state[prefix + name.removeprefix(inner)] = state.pop(name)


def _with_base(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    own = tuple(f"{prefix}{child}." for child in module._modules)
    for name in [name for name in state if name.startswith(prefix) and not name.startswith(own)]:
        state[f"{prefix}base." + name.removeprefix(prefix)] = state.pop(name)
