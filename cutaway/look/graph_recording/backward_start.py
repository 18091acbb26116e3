r"""Where a backward pass starts, and with which δ; and the errors for outputs that have no gradient."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.inside.results import LookError
from cutaway.inside.tensor_layouts import sides_of
from cutaway.look.graph_recording.elements import Value
from cutaway.look.graph_recording.memory import gradient_edge

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph


def choose_output(graph: "Graph", output: Any) -> Value:
    """The value that is differentiated."""
    chosen = graph.output if output is None else output
    if output is None and len(graph.outputs) == 1:
        chosen = graph.outputs[0]  # also out of a tuple or dictionary of one
    if isinstance(chosen, str):
        chosen = graph[chosen]
    if isinstance(chosen, Tensor):
        tensor = chosen
        chosen = next((value for value in reversed(graph.values) if value.live is tensor), None)
        if chosen is None:
            raise ValueError(
                f"an output must be a value of the graph, got a tensor of shape {tuple(tensor.shape)} that is not in "
                "it; pass one of g.values or its name, and a δ as delta="
            )
    if not isinstance(chosen, Value):
        names = ", ".join(repr(value.name) for value in graph.outputs[:5]) or "none"
        raise ValueError(
            f"a backward pass starts at one value, got {_kind(chosen)}; choose one, as in g.backward(g.outputs[0]); "
            f"there are: {names}"
        )
    if chosen.graph is not graph:
        raise ValueError(
            f"an output must be a value of the graph, got {chosen.name!r} of another; pass one of g.values"
        )
    _expect_gradient(chosen)
    return chosen


def _kind(chosen: Any) -> str:
    return "no output" if chosen is None else f"a {type(chosen).__name__} of several"


def _expect_gradient(output: Value) -> None:
    if output.requires_grad and output.edge is None and output.stale:
        raise LookError(
            f"an output must not be changed afterwards, got {output.name!r}: {output.left_out}; clone it first"
        )
    if gradient_edge(output) is not None:
        return
    made = output.made_without_graph or (output.live is not None and output.live.is_inference())
    if made and (output.dtype.is_floating_point or output.dtype.is_complex):
        raise LookError(
            f"a backward pass needs a pass with gradients enabled, got {output.name!r} made under torch.no_grad() or "
            "inference_mode(); record it outside of these"
        )
    raise LookError(
        f"a backward pass needs an output that depends on something by gradients, got {output.name!r}: "
        f"{output.why_no_delta}; start at a value before it, or give an input or parameter requires_grad=True"
    )


def choose_delta(output: Value, delta: Any) -> Tensor:
    """The δ to start with."""
    if delta is None:
        if output.numel() != 1:
            raise ValueError(
                f"a backward pass starts with one number or with a δ that you choose, got an output of shape "
                f"{tuple(output.shape)} without; pass delta='ones', a tensor of that shape, or reduce it to a loss"
            )
        delta = "ones"
    device = output.live.device if output.live is not None else None
    if isinstance(delta, str):
        if delta != "ones":
            raise ValueError(f"delta must be a tensor or 'ones', got {delta!r}; choose one of these")
        if output.live is not None:
            return torch.ones_like(output.live.detach())
        return torch.ones(output.shape, dtype=output.dtype, device=device)
    given = delta.content() if isinstance(delta, Value) else torch.as_tensor(delta)
    if sides_of(given) != tuple(output.shape):
        raise ValueError(
            f"delta must have the output's shape, got {sides_of(given)} for {tuple(output.shape)}; "
            "pass delta='ones' to weight all entries alike"
        )
    return given.detach().to(dtype=output.dtype, device=device)


__all__ = ["choose_delta", "choose_output"]
