r"""Taps: names for the values inside a block.

    tap(x) = x

A tap is an identity that gives a value an address. Nobody looking: a block skips it, at the price of reading
two integers. Somebody looking: `trace` reads what flows through it and `patch` changes it. Blocks write

    self.weights = Tap()                            # in the constructor
    if self.weights.live: A = self.weights(A)       # in the forward pass

and take their fused kernel while `tap.edited` is False: a read computes the hidden value beside the fused output, so
looking never changes the output by a bit; an edit or a gradient takes the written-out equation. Where all who read want
the same part of it (`trace(only=...)`), a block may compute that part alone: `self.weights(Part(A[tap.wanted]))`.
A value that comes into being step by step is edited at every step, `self.forget_gate(Unread(f)).value`, and read once
when all of its steps are there: `self.forget_gate(Whole(f))`.
"""

from collections.abc import Collection
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import nn

from cutaway.overriding import override


class Watch:
    """A trace, patch or flow, as far as taps need to know it. `hooks.HookedWatch` adds the hooks."""

    is_open: bool
    watched: Collection[nn.Module]
    edits: bool  # whether what it watches must take the written-out equation
    only: tuple[Any, ...] = ()  # the part that it reads, an index of the leading axes; (): all


# Context-local: a watch opened in one thread (or task) is not seen by another that runs the same model.
open_watches: ContextVar[tuple[Watch, ...]] = ContextVar("cutaway.open_watches", default=())
# While an activation checkpoint runs its pass again: those that acted in the first run. None at all other times.
replayed_watches: ContextVar[tuple[Watch, ...] | None] = ContextVar("cutaway.replayed_watches", default=None)


def active_watches() -> tuple[Watch, ...]:
    """The watches that act on the pass running now, in the order in which they were opened.

    A pass inside backward is one computed again, so only what acted in its first run may act: the replayed ones.
    """
    again = replayed_watches.get()
    if again is not None:
        return again
    if torch._C._current_graph_task_id() != -1:
        return ()
    # a copied context (a child task, a late generator) may still name a watch that was closed elsewhere
    return tuple(watch for watch in open_watches.get() if watch.is_open)


class Part(NamedTuple):
    """What `Tap.wanted` asked for, computed without the rest."""

    value: Any


class Unread(NamedTuple):
    """A value that patches change now, and that traces read later: as a part of a `Whole`."""

    value: Any


class Whole(NamedTuple):
    """A value that patches have changed part by part, for traces to read.

    ``source`` is a tensor of the same shape whose gradient is that of the value, where somebody wants it.
    """

    value: Any
    source: Any = None


class Tap(nn.Module):
    """The identity, with a name: ``tap(x) = x``. Notes: N3 §3.3 (values on the edges of the compute graph).

    ``readers`` and ``editors`` count the open watches of all threads. They are plain integers because the compiler
    guards those; while one is not zero, compiled code runs eagerly (see hooks.py).
    """

    def __init__(self) -> None:
        super().__init__()
        self.readers = 0
        self.editors = 0

    @property
    def live(self) -> bool:
        """Whether somebody in this context reads or edits the value."""
        return bool(self.readers or self.editors) and any(self in watch.watched for watch in active_watches())

    @property
    def edited(self) -> bool:
        """Whether somebody in this context edits the value or wants its gradient."""
        return bool(self.editors) and any(watch.edits and self in watch.watched for watch in active_watches())

    @property
    def wanted(self) -> tuple[Any, ...]:
        """The index of the leading axes that everybody who reads the value asked for; (): all of it."""
        parts = [watch.only for watch in active_watches() if self in watch.watched]
        return parts[0] if parts and all(part == parts[0] for part in parts) else ()

    @override
    def forward(self, value: Any) -> Any:
        return value

    @override
    def __getstate__(self) -> dict[str, Any]:
        # A copy made while somebody looks is not itself looked at.
        return self.__dict__ | {"readers": 0, "editors": 0}

    @override
    def extra_repr(self) -> str:
        return "live" if self.live else ""
