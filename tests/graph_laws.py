"""The laws of δ that every recorded graph must keep, and how to ask for them."""

from typing import Any

import torch
from torch import Tensor

from cutaway.look.graphs import Graph, Node


def close(one: Tensor, other: Tensor) -> bool:
    tolerance = 1e-9 if one.dtype == torch.float64 else 2e-4
    scale = max(1.0, float(other.abs().max())) if other.numel() else 1.0
    return torch.allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def assert_totals(graph: Graph) -> int:
    """Every δ is what autograd says of the very tensor; returns how many were compared."""
    assert graph.deltas is not None
    (start, delta), *_ = graph.deltas.starts.items()
    known = [v for v in graph.values if v.live is not None and not v.stale and v.live.requires_grad]
    expected = torch.autograd.grad(start.live, [v.live for v in known], delta, retain_graph=True, allow_unused=True)
    for value, right in zip(known, expected):
        assert (value.delta is None) == (right is None), value
        if right is not None:
            assert torch.equal(value.delta, right), value
    return len(known)


def assert_shares_add_up(graph: Graph) -> int:
    """δ = Σ shares, plus the start at the output; returns how many values have several shares."""
    assert graph.deltas is not None
    several = 0
    for value in graph.values:
        shares = [edge.delta for edge in value.consumers if edge.delta is not None]
        if value in graph.deltas.starts:
            shares.append(graph.deltas.starts[value])
        if value.delta is None:
            assert not shares, value
        else:
            assert shares, value
            assert {share.shape for share in shares} == {value.delta.shape}, value
            assert close(sum(shares[1:], start=shares[0]), value.delta), value
            several += len(shares) > 1
    return several


def written_shares(node: Node, tensors: list[Tensor], run: Any) -> list[Tensor | None]:
    """J_fᵀ δ_out from the whole Jacobian of ``run(*tensors)``, entry by entry: dear, and nothing is left to chance."""
    deltas = [value.delta for value in node.outputs]
    floats = [i for i, x in enumerate(tensors) if x.is_floating_point()]

    def alone(*floating: Tensor) -> tuple[Tensor, ...]:
        given = list(tensors)
        for i, x in zip(floats, floating):
            given[i] = x
        out = run(*given)
        return tuple(y for y in (out if isinstance(out, (tuple, list)) else [out]) if y.is_floating_point())

    jacobians = torch.autograd.functional.jacobian(alone, tuple(tensors[i].detach().clone() for i in floats))
    found: list[Tensor | None] = [None] * len(tensors)
    real = [d for v, d in zip(node.outputs, deltas) if v.dtype.is_floating_point]
    for k, i in enumerate(floats):
        parts = [
            torch.tensordot(d, jacobian[k], dims=d.ndim) if d.ndim else d * jacobian[k]
            for d, jacobian in zip(real, jacobians)
            if d is not None
        ]
        found[i] = sum(parts[1:], start=parts[0]) if parts else None
    return found


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]
