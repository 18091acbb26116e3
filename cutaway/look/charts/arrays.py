r"""Converts what views are given (tensors of any kind and device, arrays, lists) to numpy arrays of the right shape."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

Values: TypeAlias = Tensor | np.ndarray | Sequence[Any]


def as_array(name: str, values: Values, *axes: str) -> np.ndarray:
    """``values`` as floats, with one axis for each name in ``axes`` (no names: any shape), none of them empty."""
    given = values
    try:
        if isinstance(values, (list, tuple)) and values and all(isinstance(part, Tensor) for part in values):
            values = torch.stack(tuple(values))
        if isinstance(values, Tensor):
            values = values.detach().cpu()
            array = (values if values.dtype.itemsize >= 4 else values.float()).numpy()  # numpy has no bfloat16
        else:
            array = np.asarray(values)
    except (ValueError, RuntimeError):
        array = np.asarray(None)  # parts of different shapes
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be real numbers in a tensor, an array or lists of one length, got {_kind(given)}; "
            "pass a tensor"
        )
    if axes and array.ndim != len(axes):
        raise ValueError(
            f"{name} must have the axes ({', '.join(axes)}), got shape {array.shape}; "
            + ("pick one, as in x[0]" if array.ndim > len(axes) else "add what is missing, as in x[None]")
        )
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one number, got shape {array.shape}; there is nothing to draw")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _kind(values: Any) -> str:
    if isinstance(values, (Tensor, np.ndarray)):
        return f"{values.dtype} of shape {tuple(values.shape)}"
    return type(values).__name__


def by_layer(weights: Mapping[str, Values] | Values) -> dict[str, np.ndarray]:
    """Attention weights by layer, each (heads, queries, keys).

    Given as a trace holds them (address → weights, with or without a batch of one), as a list over layers, or as one
    tensor (layers, heads, queries, keys). Layers that go by addresses are named by what the addresses differ in.
    """
    if isinstance(weights, Mapping):
        given = dict(weights)
    else:
        given = {str(i): w for i, w in enumerate(weights)}
    if not given:
        raise ValueError("weights must hold at least one layer, got none; trace '**.weights' and pass what was seen")
    layers = {}
    for name, w in given.items():
        if isinstance(w, (Tensor, np.ndarray)) and w.ndim == 4 and w.shape[0] == 1:
            w = w[0]
        if isinstance(w, (Tensor, np.ndarray)) and w.ndim == 4:
            raise ValueError(
                f"weights of a layer must have the axes (heads, queries, keys), got a batch of shape {tuple(w.shape)} "
                f"at {name!r}; pick one example, as in x[0]"
            )
        layers[name] = as_array(f"weights of {name!r}", w, "heads", "queries", "keys")
    return dict(zip(short_names(list(layers)), layers.values()))


def short_names(names: list[str]) -> list[str]:
    """Names without the words that all of them share at their ends.

    >>> short_names(["blocks.0.attention.weights", "blocks.1.attention.weights"])
    ['0', '1']
    """
    parts = [name.split(".") for name in names]
    if len(names) > 1:
        while min(map(len, parts)) > 1 and len({p[0] for p in parts}) == 1:
            parts = [p[1:] for p in parts]
        while min(map(len, parts)) > 1 and len({p[-1] for p in parts}) == 1:
            parts = [p[:-1] for p in parts]
    return [".".join(p) for p in parts]
