r"""Activation checkpoints, which compute a part of the pass again inside backward, perhaps in another thread.

What acted in the first run acts again in the second, so that both save the same tensors. Nothing is read twice. A patch
that was closed between the two raises, as the second run would compute something else.
"""

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import _CheckpointFrame

from cutaway.inside.taps import replayed_watches

if TYPE_CHECKING:
    from cutaway.inside.hooks import HookedWatch


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


def computed_again() -> bool:
    """Whether a checkpoint computes this pass again, or will."""
    return replayed_watches.get() is not None or bool(_checkpoints())


def remember(watches: Iterable["HookedWatch"]) -> None:
    """Makes the checkpoints around this call act under these watches when they run again."""
    for frame in _checkpoints():
        if not isinstance(frame.recompute_fn, _Recompute):
            frame.recompute_fn = _Recompute(frame.recompute_fn)
        for watch in watches:
            if watch.remembered() not in frame.recompute_fn.watches:
                frame.recompute_fn.watches.append(watch.remembered())


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


class _Recompute:
    """A checkpoint's second run, under what acted in the first."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.watches: list[HookedWatch] = []

    def __call__(self, *args: Any) -> Any:
        with ExitStack() as undo:
            acts = tuple(watch.again() for watch in sorted(self.watches, key=lambda watch: watch.order))
            for watch in acts:
                if not watch.is_open:
                    watch.open()
                    undo.callback(watch.close)
            undo.callback(replayed_watches.reset, replayed_watches.set(acts))
            return self.run(*args)


__all__ = ["computed_again", "enclosing_function", "remember"]
