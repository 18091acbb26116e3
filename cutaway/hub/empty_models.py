r"""Models built without memory for their weights, which come from a file afterwards.

    expect_sizes(spec, shapes)          the design counted against the file, before a layer is built
    with without_weights(): model = from_spec(spec)

Checkpoints and run folders are both opened this way. A damaged or hostile config.json may state any size: 10⁹ layers
would take hours to build even where none of them has memory.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


def expect_sizes(spec: NamedSpec, shapes: Collection[tuple[int, ...]], file: str = "a file") -> None:
    """Each layer has tensors of its own, and their axes have its width: counted before as many layers are built."""
    layers, width = spec.layers_and_width()
    if layers > len(shapes):
        raise ValueError(
            f"each layer of config.json must have its tensors, got {layers} layers and {file} of {len(shapes)} tensors"
            "; the folder mixes two models or is incomplete"
        )
    longest = max((axis for shape in shapes for axis in shape), default=0)
    if width > longest:
        raise ValueError(
            f"the width of config.json must be that of its tensors, got {width} and axes of at most {longest}; "
            "the folder mixes two models"
        )


class WithoutDraws(TorchFunctionMode):
    """Parameters are not drawn: on the meta device there are none, and each draw of none takes a third of a ms."""

    @override
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (nn.init.normal_, nn.init.uniform_):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


@contextmanager
def without_weights() -> Iterator[None]:
    """Models that are built inside have no memory for their weights, and draw none."""
    try:
        with torch.device("meta"), WithoutDraws():
            yield
    except (RuntimeError, OverflowError, TypeError) as error:  # sizes whose product no computer counts
        if isinstance(error, TypeError) and "Overflow" not in str(error):
            raise
        first = str(error).splitlines()[0]
        raise ValueError(
            f"config.json must state sizes of a real model, got others ({first}); take the file from a copy"
        ) from error


__all__ = ["expect_sizes", "without_weights"]
