r"""Tracks the module that an operator runs in, by a stack in global hooks, which leave taps and fused paths alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from cutaway.inside.address_globs import walk_modules
from cutaway.inside.wrappers import inner_name, kind_of
from cutaway.look.graph_recording.elements import ModuleGroup

# In evaluation without gradients these run as one kernel, unless a torch function mode is on: recording pauses.
FUSED = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)

Within = tuple[tuple[str, int], ...]
Names = dict[int, tuple[str, str, tuple[str, ...]]]  # of tensors, by id: kind, name, other names


class _Running(NamedTuple):
    """A call of a module, and what is undone when it ends."""

    module: nn.Module
    within: Within  # the calls around it
    guard: Any = None  # switches recording off while the module runs as one kernel
    last: Any = None  # a hook behind its own hooks


class Modules:
    """The modules that are running, innermost last, and the names of all that they own.

    A module that is called from outside any known one is a root of its own, named by its class (``root`` itself by "").
    """

    def __init__(self, root: nn.Module | None, acts: Callable[[], bool]) -> None:
        self.acts = acts
        self.groups: dict[str, ModuleGroup] = {}
        self.names: Names = {}
        self.within: Within = ()
        self.path, self.call = "", 0
        self.finished: Callable[[ModuleGroup, nn.Module, tuple[Any, ...], Any, bool], None] = lambda *_: None
        self._paths: dict[int, list[str]] = {}
        self._stack: list[_Running] = []
        self._paused = False  # inside a module that runs as one kernel
        self._handles: list[Any] = []
        self._known: list[nn.Module] = []  # held, so that no other module gets the id of one
        if root is not None:
            self._learn(root, "")

    def _learn(self, root: nn.Module, path: str) -> None:
        self._known.append(root)
        named: dict[int, tuple[str, list[str]]] = {}
        for name, module in walk_modules(root, path):
            inner: nn.Module | None = module
            while inner is not None:  # a wrapper's inner module goes by the same path
                self._paths.setdefault(id(inner), []).append(name)
                for kind, owned in (("parameter", inner._parameters), ("buffer", inner._buffers)):
                    for key, x in owned.items():
                        if x is not None:
                            named.setdefault(id(x), (kind, []))[1].append(_joined(name, key))
                wraps = inner_name(inner) if inner._modules else None
                inner = None if wraps is None else inner._modules[wraps]
        for number, (kind, names) in named.items():
            self.names.setdefault(number, (kind, names[0], tuple(names[1:])))

    def _path_of(self, module: nn.Module) -> str:
        if id(module) not in self._paths:
            name = _joined(self.path, type(module).__name__)
            taken = {path for paths in self._paths.values() for path in paths}
            path, n = name, 1
            while path in taken:
                path, n = f"{name}_{n + 1}", n + 1
            self._learn(module, path)
        paths = self._paths[id(module)]
        # a shared module goes by the name that the caller knows it by
        return next((path for path in paths if path.startswith(f"{self.path}.")), paths[0])

    # -----------------------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Modules":
        after = register_module_forward_hook(self._after_forward, with_kwargs=True)
        self._handles = [register_module_forward_pre_hook(self._before), after]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._unwind(0)

    def _before(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if not self.acts() or self._paused or "_orig_mod" in module._modules:  # the compiler's wrapper is no module
            return
        path = self._path_of(module)
        group = self.groups.get(path)
        if group is None:
            parent = self.path if self.within else None if path == "" else ""
            group = self.groups[path] = ModuleGroup(path, kind_of(module), parent)
        group.calls += 1
        guard = None
        if isinstance(module, FUSED) and _may_fuse(module, args):
            guard = torch._C.DisableTorchFunction()
            guard.__enter__()
            self._paused = True
        last = None
        if module._forward_hooks and not any(running.module is module for running in self._stack):
            # a global hook runs before the module's own, which may change what it returns: a patch, for one
            last = module.register_forward_hook(self._after, with_kwargs=True)
        self._stack.append(_Running(module, self.within, guard, last))
        self.within = (*self.within, (path, group.calls))
        self.path, self.call = path, group.calls

    # These hooks are called by the passes of all threads. Another thread's pass must not touch the stack, and may call
    # them without kwargs: in the moments between torch's adding (or removing) a hook and its noting that it wants them.

    def _after_forward(self, module: nn.Module, args: tuple[Any, ...], *kwargs_output: Any) -> None:
        if not self.acts():
            return
        if not any(running.module is module and running.last is not None for running in self._stack):
            self._after(module, args, *kwargs_output)

    def _after(self, module: nn.Module, args: tuple[Any, ...], *kwargs_output: Any) -> None:
        if not self.acts():
            return
        *kwargs, output = kwargs_output
        # whatever lies above it was left by an error that the model caught
        depth = next((i for i in reversed(range(len(self._stack))) if self._stack[i].module is module), None)
        if depth is None:
            return
        fused = self._stack[depth].guard is not None
        group = self.groups[self.within[depth][0]]
        self._unwind(depth + fused)  # a fused module is unwound here, but its node still belongs to it
        if fused:
            self._resume(self._stack[depth].guard)
            self._stack[depth] = self._stack[depth]._replace(guard=None)
        self.finished(group, module, (args, *kwargs), output, fused)
        self._unwind(depth)

    def _unwind(self, depth: int) -> None:
        while len(self._stack) > depth:
            running = self._stack.pop()
            self.within = running.within
            if running.guard is not None:
                self._resume(running.guard)
            if running.last is not None:
                running.last.remove()
        self.path, self.call = self.within[-1] if self.within else ("", 0)

    def _resume(self, guard: Any) -> None:
        guard.__exit__(None, None, None)
        self._paused = False


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _may_fuse(module: nn.Module, args: tuple[Any, ...]) -> bool:
    attention = [part for part in module.modules() if isinstance(part, nn.MultiheadAttention)]
    batched = all(part.batch_first for part in attention)
    if module.training or not batched or not torch.backends.mha.get_fastpath_enabled():
        return False
    if not torch.is_grad_enabled():
        return True
    given = [x for x in args if isinstance(x, Tensor)]
    return not any(x.requires_grad for x in (*given, *module.parameters()))


__all__ = ["Modules", "Names", "Within"]
