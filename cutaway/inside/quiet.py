r"""A pass at which nobody looks: each block computes its bare equation, without taps and without module calls.

    equation_of(block)(x) = block(x)

When a model writes one token, a layer's products take about half a millisecond, and asking twenty taps and a dozen
modules whether somebody watches would take nearly as long. So a block may have, beside ``forward``, a method
``equation``: the same function of the same arguments for evaluation without gradients, bare. `nobody_looks` is asked
once a pass. `equation_of` then gives a block's equation, or the block itself where that could differ: it has none, a
subclass or an instance has its own ``forward``, it is compiled, or it has hooks. A single token may flow as a vector of
shape (width); a block that is called as a module gets it as a batch of one, so that hooks see the usual shapes.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

from cutaway.inside.taps import active_watches, replayed_watches


def nobody_looks(model: nn.Module) -> bool:
    """Whether this pass may run on bare equations: evaluation, no gradients, and nothing that reads or edits values."""
    return not (
        model.training
        or torch.compiler.is_compiling()
        or torch.is_grad_enabled()
        or active_watches()
        or replayed_watches.get() is not None
        or torch_modules._global_forward_hooks
        or torch_modules._global_forward_pre_hooks
        or torch._C._len_torch_dispatch_stack()  # something records every operation
        or torch._C._is_any_autocast_enabled()
    )


def equation_of(block: nn.Module) -> Callable[..., Any]:
    """``block.equation`` where it is what calling the block would compute, else the block."""
    if (
        not _has_equation(type(block))  # type: ignore[arg-type]
        or block._forward_hooks
        or block._forward_pre_hooks
        or block._compiled_call_impl is not None
        or "forward" in block.__dict__
    ):
        return partial(_call, block)
    return block.equation  # type: ignore[return-value]


def _call(block: nn.Module, x: Tensor, *args: Any, **keywords: Any) -> Any:
    return block(x[None, None], *args, **keywords)[0, 0] if x.ndim == 1 else block(x, *args, **keywords)


@cache
def _has_equation(kind: type) -> bool:
    """An equation belongs to the ``forward`` beside it: a subclass that changes one of them alone has none."""
    for base in kind.__mro__:
        if "forward" in vars(base) or "equation" in vars(base):
            return "forward" in vars(base) and "equation" in vars(base)
    return False
