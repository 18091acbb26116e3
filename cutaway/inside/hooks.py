r"""How trace, patch and flow get at values: hooks on modules, counts on taps, and the compiler's stance.

An open watch hangs a hook on each site that it names. The hook asks which watches act *in this context* (another
thread's pass through the same model sees nothing of them), lets every patch change the value, in the order in which
they were opened, and then lets every trace read it: a trace sees what flowed on.

Compiled code ignores hooks that were added later, so while any watch is open it runs eagerly, in the whole process.
"""

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import Site
from cutaway.inside.arguments import Slot, find_slot
from cutaway.inside.checkpoints import remember
from cutaway.inside.results import LookError, rebuilt, tensors
from cutaway.inside.taps import Tap, Unread, Watch, Whole, active_watches, open_watches
from cutaway.overriding import override


class HookedWatch(Watch):
    """A watch with hooks on its sites. This one changes nothing and keeps nothing; trace, patch and flow derive."""

    def __init__(
        self,
        names: Mapping[Site, Sequence[str]],
        edits: bool = False,
        gradients: bool = False,
        only: tuple[Any, ...] = (),
    ) -> None:
        self.names = names
        self.watched = {site.module for site in names}
        self.edits = edits
        self.gradients = gradients
        self.only = only
        self.is_open = False
        self.order = 0  # of opening
        self.reached: set[Site] = set()
        self.passed_elsewhere = False  # a pass reached a site, but in another context

    # What happens to a value at one of its sites, in this order, each step for all open watches.

    def change(self, site: Site, value: Any) -> Any:
        return value

    def prepare(self, value: Any) -> Any:
        """A value whose gradient is wanted enters the graph if no part of it is there.

        If a part is, the rest stays as it is: a constant beside the output, such as a position bias that goes on to be
        a mask, would make attention choose another kernel, and the model's output would change by rounding.
        """
        if not self.gradients or not torch.is_grad_enabled():
            return value
        inside = any(x.requires_grad for x in tensors(value))
        return watchable(value) if inside else _changed(value, into_graph)

    def read(self, site: Site, value: Any) -> None:
        pass

    def wants_to_stop(self) -> bool | None:
        """Whether the pass may end here; None: it has no say."""
        return None

    # What a checkpoint remembers of it, and what acts when the checkpoint runs again.

    def remembered(self) -> "HookedWatch":
        return self

    def again(self) -> "HookedWatch":
        return HookedWatch(self.names, self.edits, self.gradients, self.only)

    # Opening and closing. If opening fails half-way, everything that it did is undone.

    def begin(self, undo: ExitStack) -> None:
        """What a derived watch does beside, when it opens; its undoing goes into ``undo``."""

    def open(self) -> None:
        if torch.compiler.is_compiling() or torch._C._dynamo.eval_frame.get_eval_frame_callback() not in (None, False):
            raise LookError(
                "a trace or patch must be opened outside compiled code, got one inside a torch.compile region; open it "
                "around the compiled call, or mark the function that opens it with torch.compiler.disable"
            )
        with _lock, ExitStack() as undo:
            _run_eagerly(undo)
            for site in self.names:
                _hang(site, self, undo)
            for module in self.watched:
                if isinstance(module, Tap):
                    _count(module, "editors" if self.edits else "readers", undo)
            self.begin(undo)
            self._undo = undo.pop_all()
            self.order = next(_orders)
            self.is_open = True

    def close(self) -> None:
        with _lock:
            self.is_open = False
            self._undo.close()


class AddressedWatch(HookedWatch):
    """A watch of addresses, open in one context: ``patterns`` are what the caller asked for, and what each names."""

    def __init__(
        self,
        patterns: Mapping[str, Mapping[str, Site]],
        edits: bool = False,
        gradients: bool = False,
        only: tuple[Any, ...] = (),
    ) -> None:
        self.patterns = patterns
        names: dict[Site, list[str]] = {}
        for address, site in {a: s for found in patterns.values() for a, s in found.items()}.items():
            names.setdefault(site, []).append(address)
        super().__init__(names, edits, gradients, only)

    @override
    def open(self) -> None:
        if self.order:
            raise LookError(f"a {type(self).__name__} can be entered once, got a second time; make a new one")
        super().open()
        open_watches.set((*open_watches.get(), self))

    @override
    def close(self) -> None:
        super().close()
        open_watches.set(tuple(watch for watch in open_watches.get() if watch.is_open))  # others may end elsewhere

    def expect_reached(self) -> None:
        """Raises if there is a pattern that no pass reached."""
        for pattern, found in self.patterns.items():
            if self.reached.isdisjoint(found.values()):
                way_out = "; run the model inside, or drop the address if this pass does not use it"
                if self.passed_elsewhere:
                    way_out = " but in another thread, task or backward pass; run the model where the block was opened"
                raise LookError(
                    "every address asked for must be reached by a pass inside the `with` block, got none through "
                    f"{pattern!r}{way_out}"
                )


class Stop(BaseException):
    """Ends a pass for the watch that it carries; not an Exception, so that no model catches it by accident."""


# ---------------------------------------------------------------------------------------------------------------------
# Hooks, counts and the compiler's stance: process-wide, so under one lock. Each step leaves its undoing in `undo`.

_lock = threading.RLock()
_orders = itertools.count(1)
_open = 0
_stance: Any = None  # restores, on exit, what was before


class _Hook:
    """The hook before or after a module, and who watches there."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.watches: dict[Site, list[HookedWatch]] = {}


_hooks: dict[tuple[nn.Module, bool], _Hook] = {}  # by module; True: before it


def _run_eagerly(undo: ExitStack) -> None:
    global _open, _stance

    def restore() -> None:
        global _open, _stance
        _open -= 1
        if not _open:
            _stance.__exit__(None, None, None)
            _stance = None

    if not _open:
        _stance = torch.compiler.set_stance("force_eager")
    _open += 1
    undo.callback(restore)


def _hang(site: Site, watch: HookedWatch, undo: ExitStack) -> None:
    key = (site.module, site.is_input)

    def remove() -> None:
        hook = _hooks[key]
        hook.watches[site].remove(watch)
        if not hook.watches[site]:
            del hook.watches[site]
        if not hook.watches:
            _hooks.pop(key).handle.remove()

    if key not in _hooks:
        _hooks[key] = _Hook(_register(*key))
    _hooks[key].watches.setdefault(site, []).append(watch)
    undo.callback(remove)


def _register(module: nn.Module, before: bool) -> Any:
    hooks = module._forward_pre_hooks if before else module._forward_hooks
    for key in [key for key, hook in hooks.items() if hook in (_before, _after)]:
        del hooks[key]  # came along when the module was copied while somebody looked
    # The methods of nn.Module itself: a scripted module refuses its own, though hooks from Python around it work.
    if before:
        return nn.Module.register_forward_pre_hook(module, _before, with_kwargs=True)
    return nn.Module.register_forward_hook(module, _after)


def is_changed(module: nn.Module) -> bool:
    """Whether this pass may change what a module takes or gives: by a watch that edits, or by a hook of another's."""
    hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
    if not hooks:
        return False
    return any(hook not in (_before, _after) for hook in hooks) or any(
        watch.edits and module in watch.watched for watch in active_watches()
    )


def is_read(module: nn.Module) -> bool:
    """Whether a watch of this context looks at what a module takes or gives."""
    if not (module._forward_hooks or module._forward_pre_hooks):
        return False
    return any(module in watch.watched for watch in active_watches())


def _count(tap: Tap, which: str, undo: ExitStack) -> None:
    setattr(tap, which, getattr(tap, which) + 1)
    undo.callback(lambda: setattr(tap, which, getattr(tap, which) - 1))


# ---------------------------------------------------------------------------------------------------------------------
# The hooks. A copy of a model made while they hang has them too: with nothing open they do nothing, which the compiler
# sees as well, as the count is a plain integer.


def _before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    # Another thread may call it without kwargs, in the moment between torch's hanging it and noting that it wants them.
    hook = _hooks.get((module, True)) if _open else None
    if hook is None or kwargs is None:
        return None
    slots: dict[Slot, list[Site]] = {}  # one argument may go by several addresses: a number, a name, the first
    for site in list(hook.watches):
        slot = find_slot(module, site.argument, args, kwargs)
        if slot is not None:
            slots.setdefault(slot, []).append(site)
    for slot, sites in slots.items():
        if isinstance(slot, int):
            args = (*args[:slot], _pass(hook, sites, args[slot]), *args[slot + 1 :])
        else:
            kwargs = kwargs | {slot: _pass(hook, sites, kwargs[slot])}
    return args, kwargs


def _after(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
    hook = _hooks.get((module, False)) if _open else None
    return None if hook is None else _pass(hook, [Site(module)], output)


def _pass(hook: _Hook, sites: Iterable[Site], value: Any) -> Any:
    """One value going by: all patches in the order of their opening, then all traces."""
    acts = [watch for watch in active_watches() if isinstance(watch, HookedWatch)]
    here = [(watch, site) for watch in acts for site in sites if site in watch.names]
    if not here:
        for site in sites:
            for watch in hook.watches.get(site, ()):
                watch.passed_elsewhere = True
        return value
    remember([watch for watch, _ in here])
    if isinstance(value, Unread):
        for watch, site in here:
            value = Unread(watch.change(site, value.value))
        return value
    if not isinstance(value, Whole):
        for watch, site in here:
            value = watch.change(site, value)
    for watch, _ in here:
        value = watch.prepare(value)
    for watch, site in here:
        watch.read(site, value)
        watch.reached.add(site)
    says = [(watch, watch.wants_to_stop()) for watch in acts]
    ready = [watch for watch, wants in says if wants]
    if ready and all(wants is not False for _, wants in says):
        raise Stop(ready[-1])
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Values and autograd's graph


def into_graph(x: Tensor) -> Tensor:
    """The same numbers as a value in the graph, and no leaf of it.

    A constant goes in as a copy, which the model may change in place. A leaf goes in as a view of it, or as a copy
    where torch has no view: a hook on the leaf itself would stay, and every later backward pass over it would reach it.
    """
    if x.requires_grad:
        if not x.is_leaf:
            return x
        return x.clone() if x.is_nested or x.layout is not torch.strided else torch.ops.aten.alias(x)
    if not (x.is_floating_point() or x.is_complex()):
        return x
    x = x.clone() if x.is_inference() else x.detach()
    return x.requires_grad_().clone()


def watchable(value: Any) -> Any:
    """A value on whose tensors hooks can be hung that go with this pass: leaves become views of themselves."""
    return _changed(value, lambda x: into_graph(x) if x.requires_grad else x)


def _changed(value: Any, change: Any) -> Any:
    """`rebuilt`, but the value itself where nothing changes: models may compare their containers by identity."""
    news = [(x, change(x)) for x in tensors(value)]
    if all(new is old for old, new in news):
        return value
    made = iter(news)
    return rebuilt(value, lambda _: next(made)[1])


__all__ = ["AddressedWatch", "HookedWatch", "Stop", "into_graph", "is_changed", "is_read", "watchable"]
