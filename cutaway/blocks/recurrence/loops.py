r"""What the loops over time share: their order, and the states before each step.

order: 0, 1, …, T − 1, or back;  previous(Z)⁽ᵗ⁾ = z⁽ᵗ⁻¹⁾
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Parts = tuple[Tensor, ...]  # of a state, for one layer and direction: hidden (b, w), and cell (b, w) for an LSTM
Advance = Callable[[Tensor, Parts, int], dict[str, Tensor]]


def order(steps: int, reverse: bool) -> range:
    """The steps in the order in which they are taken.

    >>> list(order(3, reverse=True))
    [2, 1, 0]
    """
    return range(steps - 1, -1, -1) if reverse else range(steps)


def previous(states: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """The state before each step: ``first``, then those after the earlier steps. States are (t, b, w)."""
    return torch.cat([states[1:], first[None]] if reverse else [first[None], states[:-1]])


def unroll(
    advance: Advance, kept: Sequence[str], a: Tensor, state: Parts, mask: Tensor | None, reverse: bool
) -> tuple[dict[str, list[Tensor]], Parts]:
    """The equation written out, step by step: every value of every step, by name, and the last state.

    ``a`` is (t, b, …), ``mask`` (t, b, 1) is False for steps to skip; ``advance(a⁽ᵗ⁾, state, t)`` gives the values of
    one step, among them those ``kept`` as the state.
    """
    seen: dict[str, list[Tensor]] = {}
    for t in order(a.shape[0], reverse):
        values = advance(a[t], state, t)
        new = tuple(values[name] for name in kept)
        if mask is not None:
            new = tuple(torch.where(mask[t], n, s) for n, s in zip(new, state, strict=True))
        state = new
        for name, value in values.items():
            seen.setdefault(name, []).append(value)
    if reverse:
        for values_of_one in seen.values():
            values_of_one.reverse()
    return seen, state


def differentiate_again(
    pass_: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor | None], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients of ``inputs`` through the written-out equation, which can be differentiated once more.

    A hand-written backward pass is no part of the graph. Where it must be (``create_graph=True``), the pass is computed
    again, step by step.
    """
    with torch.enable_grad():
        outputs = [(y, g) for y, g in zip(pass_(*inputs), gradients, strict=True) if g is not None]
        wanted = [x for x in inputs if x is not None and x.requires_grad]
        ys, gs = zip(*outputs, strict=True)
        found = iter(torch.autograd.grad(ys, wanted, gs, create_graph=True, allow_unused=True))
    return [next(found) if x is not None and x.requires_grad else None for x in inputs]
