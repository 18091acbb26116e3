r"""Tracks which values share memory, and saves their contents before an operator writes to it."""

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge

from cutaway.look.graph_recording.elements import Value


class Memory:
    """The values by the memory that they live in; ``copies``: keep their contents when it is written to."""

    def __init__(self, values: list[Value], copies: bool) -> None:
        self.values, self.copies = values, copies
        self._by_storage: dict[int, list[Value]] = {}
        self._filed = 0

    def root(self, x: Tensor) -> Tensor:
        """The tensor that owns the memory of a view; others are their own."""
        base = x._base if x._is_view() else None
        return x if base is None else base

    def _sharing(self, x: Tensor) -> list[Value]:
        for value in self.values[self._filed :]:  # filed at the first write only: most passes have none
            if value.live is not None:
                self._by_storage.setdefault(_place(value.live), []).append(value)
        self._filed = len(self.values)
        return self._by_storage.get(_place(x), [])

    def before_write(self, x: Tensor) -> None:
        """Keeps what the write will destroy: contents, and where autograd delivers their δ."""
        for value in self._sharing(x):
            if not value.stale and value.live is not None:
                remember(value)
                if self.copies and not value.why_no_tensor:
                    with torch._C.DisableTorchFunctionSubclass():
                        value.copy = value.live.detach().clone()
                value.stale = True
        self._by_storage.pop(_place(x), None)

    def after_write(self, x: Tensor, name: str) -> None:
        """Marks the values in memory that was written to without notice: their contents are lost."""
        for value in self._sharing(x):
            if not value.stale:
                value.left_out = f"it was changed in place by {name}, which does not say so beforehand"
                value.needed_gradient = value.live is not None and value.live.requires_grad
                value.stale = True
        self._by_storage.pop(_place(x), None)


def remember(value: Value) -> None:
    """Saves whether a value needs a gradient, and where autograd delivers its δ, before its tensor changes."""
    x = value.live
    if x is None or value.needed_gradient is not None:
        return
    value.needed_gradient = x.requires_grad
    value.edge = _edge(x)


def gradient_edge(value: Value) -> GradientEdge | None:
    """Where autograd delivers the δ of a value; None if it has none."""
    if value.edge is not None or value.stale or value.live is None:
        return value.edge
    return _edge(value.live)


def _edge(x: Tensor) -> GradientEdge | None:
    if not x.requires_grad or x.is_inference():
        return None
    if x.grad_fn is None and x._is_view():  # of a leaf, made without gradients: it says that it requires one
        return None
    return get_gradient_edge(x)


def _place(x: Tensor) -> int:
    try:
        return x.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse and the like have none
        return id(x)


__all__ = ["Memory", "gradient_edge", "remember"]
