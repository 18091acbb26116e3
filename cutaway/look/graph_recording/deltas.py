r"""Computes δ, the gradient of the output with respect to every value, and the share of it that each edge carries.

    δ_x = Σ_c J_cᵀ δ_out(c)         over the consumers c of x; the output itself starts with the δ that was chosen

Totals come from one call of `torch.autograd.grad` over all values. A share is the total where a value has one consumer;
else that operator alone is run again on its own inputs, each detached, and differentiated. An alias for each edge in
the pass itself would give shares for free, but it would change the pass: `query is key` chooses a path inside
nn.MultiheadAttention, and operators in place refuse or change aliases. Shares from a second run are lazy, exact, and
independent of the totals that they must add up to. Notes: N3 §3.3.
"""

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from cutaway.inside.results import LookError
from cutaway.look.graph_recording.capture import unrecorded
from cutaway.look.graph_recording.elements import Call, Edge, Node, Value
from cutaway.look.graph_recording.memory import gradient_edge
from cutaway.look.graph_recording.statistics import Statistics
from cutaway.look.graph_recording.torch_functions import replaced, tensors_in
from cutaway.look.graph_recording.unrecorded import opaque_shares

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph


class Deltas:
    """The results of one backward pass, which started at some values with a δ each."""

    def __init__(self, graph: "Graph", starts: dict[Value, Tensor]) -> None:
        self.graph, self.starts = graph, starts
        edges = {value.index: edge for value in graph.values if (edge := gradient_edge(value)) is not None}
        places = {index: (edge.node, edge.output_nr) for index, edge in edges.items()}
        asked = {place: edges[index] for index, place in places.items()}
        got = dict(zip(asked, self._differentiate(list(asked.values()))))
        self._totals = {index: got[place] for index, place in places.items()}
        self._shares: dict[int, list[Tensor | None]] = {}
        self._statistics: dict[int, Statistics] = {}
        # A leaf that was changed in place outside the graph has several values, but one sum in autograd.
        often: dict[Any, list[int]] = {}
        for index, place in places.items():
            often.setdefault(place, []).append(index)
        self._settled = False
        self._summed = {index for together in often.values() if len(together) > 1 for index in together}
        for node in graph.nodes:
            if len(node.outputs) > 1:
                self._summed |= _made_on_the_way(node, edges)

    def _differentiate(self, asked: list[GradientEdge]) -> tuple[Any, ...]:
        edges: Any = [gradient_edge(value) for value in self.starts]
        try:
            return torch.autograd.grad(edges, asked, [*self.starts.values()], retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if "use_reentrant" in str(error):
                raise LookError(
                    "a backward pass over chosen values needs checkpoints of the kind that keeps the graph, got "
                    "use_reentrant=True; pass use_reentrant=False"
                ) from error
            if "second time" in str(error):
                raise LookError(
                    "a graph can be stepped backwards while autograd keeps it, got one that an earlier backward pass "
                    "has freed; call g.backward() instead of it, or pass it retain_graph=True"
                ) from error
            if "modified by an inplace operation" in str(error):
                raise LookError(
                    "a backward pass needs the values that operators saved, got one that was changed in place "
                    "afterwards, so that the code's own backward() would fail too; call g.backward() before it is "
                    f"changed, or use operators that make new tensors ({str(error).split(' Hint:')[0]})"
                ) from error
            raise

    def total(self, value: Value) -> Tensor | None:
        found = self._totals.get(value.index)
        if found is None or value.index not in self._summed:
            return found
        if not self._settled:  # the last ones first: asked for one by one, each would ask for the next, without end
            self._settled = True
            for node in reversed(self.graph.nodes):
                if node.inputs and any(made.index in self._summed for made in node.outputs):
                    self._share_of(node.inputs[0])
        parts = [part for edge in value.consumers if (part := self._share_of(edge)) is not None]
        if value in self.starts:
            parts.append(self.starts[value])
        return sum(parts[1:], start=parts[0]) if parts else None

    @unrecorded()
    def statistics(self, value: Value) -> Statistics | None:
        """Those of a value's δ, counted once."""
        if value.index not in self._statistics and (found := self.total(value)) is not None:
            self._statistics[value.index] = Statistics.of(found)
        return self._statistics.get(value.index)

    def share(self, edge: Edge) -> Tensor | None:
        value = edge.value
        if self._totals.get(value.index) is None:
            return None
        alone = len(value.consumers) == 1 and value not in self.starts and value.index not in self._summed
        if alone:
            return self._totals[value.index]
        return self._share_of(edge)

    @unrecorded()
    def _share_of(self, edge: Edge) -> Tensor | None:
        node = edge.consumer
        if node.index not in self._shares:
            self._shares[node.index] = self._shares_of(node)
        return self._shares[node.index][edge.position]

    def _shares_of(self, node: Node) -> list[Tensor | None]:
        """J_fᵀ δ_out for every position, of this operator alone."""
        deltas = [self.total(value) for value in node.outputs]
        if all(delta is None for delta in deltas):
            return [None] * len(node.inputs)
        if node.is_function:
            return _function_shares(node, deltas)
        alias = node.implicit and node.called is not None  # a view of written memory, whose J is that of the view
        if not alias and (node.implicit or node.outputs[0].made_without_graph):
            # written without autograd's knowledge: it takes the tensor for the one that it was
            return [
                deltas[node.written.get(i, 0)] if i in node.written or node.implicit else None
                for i in range(len(node.inputs))
            ]
        if node.opaque or why_not_again(node):
            return opaque_shares(node, deltas)
        wanted = [edge.value.requires_grad for edge in node.inputs]
        leaves, results = run_again(node, wanted)
        pairs = [(y, d) for y, d in zip(results, deltas) if d is not None and y.requires_grad]
        asked = [leaf for leaf, w in zip(leaves, wanted) if w]
        if not pairs or not asked:
            return [None] * len(node.inputs)
        ys, ds = zip(*pairs)
        got = iter(torch.autograd.grad(ys, asked, ds, allow_unused=True))
        return [next(got) if w else None for w in wanted]


def _made_on_the_way(node: Node, edges: dict[int, GradientEdge]) -> set[int]:
    """The results of an operator that another of its results is made of, inside it: the cell state of `lstm_cell`.

    Their δ is what their readers pass back. Autograd would add the path through the other result, which belongs to the
    operator itself, and to its J.
    """
    ends = {edges[value.index].node: value.index for value in node.outputs if value.index in edges}
    if len(ends) < 2:  # none, or all made at once, as by split
        return set()
    borders = {edges[edge.value.index].node for edge in node.inputs if edge.value.index in edges}
    found: set[int] = set()
    for end in ends:
        seen, ahead = {end}, [end]
        while ahead:
            for after, _ in ahead.pop().next_functions:
                if after is not None and after not in seen and after not in borders:
                    seen.add(after)
                    ahead.append(after)
                    if after in ends:
                        found.add(ends[after])
    return found


def why_not_again(node: Node) -> str:
    """Why an operator cannot be run again; empty if it can."""
    if node.called is None:
        return "how it was called was not kept"
    lost = next((edge.value for edge in node.inputs if edge.value.tensor is None), None)
    return "" if lost is None else f"it read {lost.name!r}, of which there is no content: {lost.why_no_tensor}"


def run_again(
    node: Node, wanted: list[bool], function: Callable[..., Any] | None = None, around: Any = None
) -> tuple[list[Tensor], list[Tensor]]:
    """Runs the operator again on its own inputs, each detached: returns these leaves by position, and the new outputs.

    ``function`` runs in place of the operator, inside the context ``around``.
    """
    call = node.called
    assert call is not None
    originals = [*tensors_in(call.arguments), *tensors_in(call.keywords.values())]
    with ExitStack() as setting:
        setting.enter_context(torch.inference_mode(False))
        setting.enter_context(torch.enable_grad())
        leaves = [edge.value.content().detach().requires_grad_(w) for edge, w in zip(node.inputs, wanted)]
        given = list(leaves)
        owners: dict[int, Tensor] = {}
        for i, number in node.written.items():
            # it may write to its own copy only; through the same view of it as it did
            owner = leaves[i].clone()
            owners.setdefault(number, owner)
            x = originals[i]
            given[i] = owner.as_strided(x.shape, x.stride(), x.storage_offset()) if x._is_view() else owner
        setting.enter_context(_as_then(call, leaves))
        setting.enter_context(around or nullcontext())
        news = iter(given)
        out = (function or call.function)(*replaced(call.arguments, news), **replaced(call.keywords, news))
    made = [y for y in tensors_in((out,)) if not any(y is x for x in given)]
    return leaves, [*(owners[k] for k in sorted(owners)), *made]


def _as_then(call: Call, leaves: list[Tensor]) -> ExitStack:
    """The random state and the precision under which the operator ran."""
    setting = ExitStack()
    if call.random_state is not None:
        here, elsewhere = call.random_state
        setting.enter_context(torch.random.fork_rng(devices=[device.index for device in elsewhere]))
        torch.set_rng_state(here)
        for device, state in elsewhere.items():
            torch.cuda.set_rng_state(state, device)
    setting.enter_context(torch.autocast(*call.autocast) if call.autocast is not None else nullcontext())
    return setting


def _function_shares(node: Node, deltas: list[Tensor | None]) -> list[Tensor | None]:
    """A torch.autograd.Function states its own Jᵀ δ: its backward, on what its forward saved."""
    edges = [gradient_edge(value) for value in node.outputs]
    function: Any = next(edge.node for edge in edges if edge is not None)
    given: list[Tensor | None] = [None] * len(function._input_metadata)
    for edge, delta in zip(edges, deltas):
        if edge is not None:
            given[edge.output_nr] = delta
    for i, like in enumerate(function._input_metadata):
        if given[i] is None:
            given[i] = torch.zeros(like.shape, dtype=like.dtype, device=like.device)
    with torch.no_grad():
        got = function.apply(*given)
    got = got if isinstance(got, tuple) else (got,)
    assert node.called is not None
    shares: list[Tensor | None] = []
    for i, part in enumerate(node.called.arguments):
        inside = list(tensors_in((part,)))
        shares += [got[i]] if isinstance(part, Tensor) else [None] * len(inside)
    return [*shares, *[None] * (len(node.inputs) - len(shares))]


def why_no_share(edge: Edge) -> str:
    """In words, why an edge has no share; empty if it has one."""
    if edge.delta is not None:
        return ""
    if edge.value.delta is None:
        return edge.value.why_no_delta
    node = edge.consumer
    if all(value.delta is None for value in node.outputs):
        return f"no gradient comes back through {node.title!r}"
    if not node.is_function and not node.opaque and (why := why_not_again(node)):
        return f"{node.title!r} would have to be run again, but {why}"
    return f"{node.name} hands nothing back to what it read there"


def why_no_delta(value: Value) -> str:
    """In words, why a value has no δ; empty if it has one."""
    if value.delta is not None:
        return ""
    if not (value.dtype.is_floating_point or value.dtype.is_complex):
        return f"it holds {str(value.dtype).removeprefix('torch.')}, and only real or complex numbers have a gradient"
    if value.made_without_graph and gradient_edge(value) is None:
        return "it was made under torch.no_grad() or inference_mode()"
    if not value.requires_grad:
        if value.producer is None:
            return "it does not require a gradient (requires_grad is False)"
        if value.producer.name in ("detach", "detach_", "data"):
            return f"it was cut from the graph by {value.producer.name}"
        if any(edge.value.requires_grad for edge in value.producer.inputs):
            return f"{value.producer.name} cannot be differentiated"
        return "nothing that it was made of requires a gradient"
    if value.graph is None or value.graph.deltas is None:
        return "there was no backward pass yet: call g.backward()"
    if value.stale and value.edge is None:
        return value.left_out
    starts = ", ".join(repr(start.name) for start in value.graph.deltas.starts)
    return f"the output {starts} does not depend on it"


__all__ = ["Deltas", "run_again", "why_no_delta", "why_no_share", "why_not_again"]
