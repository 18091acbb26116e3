r"""How trace and patch get at values: hooks, counts, the compiler's stance, and activation checkpoints.

An open session hangs a hook on each site that it names. The hook asks which sessions act *in this context* (another
thread's pass through the same model sees nothing of them), lets every patch change the value, in the order in which
they were opened, and then lets every trace read it: a trace sees what flowed on.

Compiled code ignores hooks that were added later, so while any session is open it runs eagerly, in the whole process.

A checkpoint computes a part of the pass again inside backward, perhaps in another thread. What acted in the first run
acts again, so that both runs save the same tensors; nothing is read twice; a patch that was closed meanwhile raises.
"""

import inspect
import itertools
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import _CheckpointFrame

from cutaway.inside.address_globs import Site
from cutaway.inside.results import LookError, rebuilt, tensors
from cutaway.inside.taps import Session, Tap, acting, replays


class Watch(Session):
    """Sites that are watched while it is open. This one changes nothing and keeps nothing; trace and patch derive."""

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
        self.reached: set[str] = set()
        self.passed_elsewhere = False  # a pass reached a site, but in another context

    # What happens to a value at one of its sites, in this order, each step for all open sessions.

    def change(self, site: Site, value: Any) -> Any:
        return value

    def prepare(self, value: Any) -> Any:
        """Floats outside the graph enter it where their gradient is wanted."""
        if self.gradients and torch.is_grad_enabled() and any(_outside_graph(x) for x in tensors(value)):
            return rebuilt(value, into_graph)
        return value

    def read(self, site: Site, value: Any) -> None:
        pass

    def wants_to_stop(self) -> bool | None:
        """Whether the pass may end here; None: it has no say."""
        return None

    # What a checkpoint remembers of it, and what acts when the checkpoint runs again.

    def remembered(self) -> "Watch":
        return self

    def again(self) -> "Watch":
        return Watch(self.names, self.edits, self.gradients, self.only)

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
            self._undo = undo.pop_all()
            self.order = next(_orders)
            self.is_open = True

    def close(self) -> None:
        with _lock:
            self.is_open = False
            self._undo.close()


class Stop(BaseException):
    """Ends a pass for the watch that it carries; not an Exception, so that no model catches it by accident."""


# ---------------------------------------------------------------------------------------------------------------------
# Hooks, counts and the compiler's stance: process-wide, so under one lock. Each step leaves its undoing in `undo`.

_lock = threading.RLock()
_orders = itertools.count(1)
_watchers: dict[Site, list[Watch]] = {}
_handles: dict[Site, Any] = {}
_open = 0
_stance: Any = None  # restores, on exit, what was before


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


def _hang(site: Site, watch: Watch, undo: ExitStack) -> None:
    def remove() -> None:
        _watchers[site].remove(watch)
        if not _watchers[site]:
            del _watchers[site]
            _handles.pop(site).remove()

    if site not in _watchers:
        hooks = site.module._forward_pre_hooks if site.is_input else site.module._forward_hooks
        for key in [key for key, hook in hooks.items() if hook in (_before, _after)]:
            del hooks[key]  # came along when the module was copied while somebody looked
        if site.is_input:
            _handles[site] = site.module.register_forward_pre_hook(_before, with_kwargs=True)
        else:
            _handles[site] = site.module.register_forward_hook(_after)
    _watchers.setdefault(site, []).append(watch)
    undo.callback(remove)


def _count(tap: Tap, which: str, undo: ExitStack) -> None:
    setattr(tap, which, getattr(tap, which) + 1)
    undo.callback(lambda: setattr(tap, which, getattr(tap, which) - 1))


# ---------------------------------------------------------------------------------------------------------------------
# The hooks. A copy of a model made while they hang has them too: with nothing open they do nothing, which the compiler
# sees as well, as the count is a plain integer.


def _before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    # Another thread may call it without kwargs, in the moment between torch's hanging it and noting that it wants them.
    if not _open or kwargs is None or not (args or kwargs):
        return None
    site = Site(module, is_input=True)
    if args:
        return (_pass(site, args[0]), *args[1:]), kwargs
    order = [name for name in inspect.signature(module.forward).parameters if name in kwargs]
    first = (order or list(kwargs))[0]
    return args, kwargs | {first: _pass(site, kwargs[first])}


def _after(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
    return _pass(Site(module), output) if _open else None


def _pass(site: Site, value: Any) -> Any:
    """One value going by: all patches in the order of their opening, then all traces."""
    acts = [session for session in acting() if isinstance(session, Watch)]
    here = [watch for watch in acts if site in watch.names]
    if not here:
        for watch in _watchers.get(site, ()):
            watch.passed_elsewhere = True
        return value
    for frame in _checkpoints():
        _remember(frame, here)
    for watch in here:
        value = watch.change(site, value)
    for watch in here:
        value = watch.prepare(value)
    for watch in here:
        watch.read(site, value)
        watch.reached.update(watch.names[site])
    says = [(watch, watch.wants_to_stop()) for watch in acts]
    ready = [watch for watch, wants in says if wants]
    if ready and all(wants is not False for _, wants in says):
        raise Stop(ready[-1])
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Gradients and checkpoints


def _outside_graph(x: Tensor) -> bool:
    return (x.is_floating_point() or x.is_complex()) and not x.requires_grad


def into_graph(x: Tensor) -> Tensor:
    """The same numbers as a value in the graph; a copy and no leaf, so that the model may change it in place."""
    if not _outside_graph(x):
        return x
    x = x.clone() if x.is_inference() else x.detach()
    return x.requires_grad_().clone()


def enclosing_function() -> str | None:
    """The torch.autograd.Function in whose forward this runs, as the reentrant kind of checkpoint does; else None."""
    if torch.is_grad_enabled():
        return None
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is torch.autograd.Function.apply.__code__:
            return frame.f_locals["cls"].__name__
    return None


def _checkpoints() -> list[_CheckpointFrame]:
    """The (non-reentrant) checkpoints around this call. Each keeps its frame in the hook that defers saving."""
    autograd = torch._C._autograd
    hooks = []
    while (top := autograd._top_saved_tensors_default_hooks(True)) is not None:
        hooks.append(top)
        autograd._pop_saved_tensors_default_hooks()
    for pack, unpack in reversed(hooks):
        autograd._push_saved_tensors_default_hooks(pack, unpack)
    cells = (cell.cell_contents for pack, _ in hooks for cell in getattr(pack, "__closure__", None) or ())
    return [found for found in cells if isinstance(found, _CheckpointFrame)]


def computed_again() -> bool:
    """Whether a checkpoint computes this pass again, or will."""
    return replays.get() is not None or bool(_checkpoints())


def _remember(frame: _CheckpointFrame, here: list[Watch]) -> None:
    if not isinstance(frame.recompute_fn, _Recompute):
        frame.recompute_fn = _Recompute(frame.recompute_fn)
    for watch in here:
        if watch.remembered() not in frame.recompute_fn.watches:
            frame.recompute_fn.watches.append(watch.remembered())


class _Recompute:
    """A checkpoint's second run, under what acted in the first."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.watches: list[Watch] = []

    def __call__(self, *args: Any) -> Any:
        with ExitStack() as undo:
            acts = tuple(watch.again() for watch in sorted(self.watches, key=lambda watch: watch.order))
            for watch in acts:
                if not watch.is_open:
                    watch.open()
                    undo.callback(watch.close)
            undo.callback(replays.reset, replays.set(acts))
            return self.run(*args)


__all__ = ["Stop", "Watch", "computed_again", "enclosing_function", "into_graph"]
