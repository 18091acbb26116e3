r"""Records a pass: a `TorchFunctionMode` sees every operator called from Python, as a whole (linear, softmax, SDPA).

A tensor object stands for one value until its memory is written to. A write makes a new value of the tensor that owns
the memory; every view of it that is used afterwards is a view of that new value, as in autograd.
"""

import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from cutaway.inside.hooks import HookedWatch
from cutaway.inside.results import tensors
from cutaway.inside.tensor_layouts import sides_of
from cutaway.inside.wrappers import kind_of
from cutaway.look.graph_recording.elements import Call, Edge, ModuleGroup, Node, Value
from cutaway.look.graph_recording.memory import Memory
from cutaway.look.graph_recording.module_calls import Modules
from cutaway.look.graph_recording.torch_functions import Kind, describe, random_state, targets, tensors_in
from cutaway.overriding import override

# Context-local: only the thread (or task) that opened a recording is recorded.
_recording: ContextVar[tuple["Capture", ...]] = ContextVar("cutaway.recording", default=())
_kinds: dict[Callable[..., Any], Kind] = {}
_APPLY = torch.autograd.Function.apply.__code__


class Capture(TorchFunctionMode):
    """Records the operators that run inside it. ``outside`` is the kind of tensors that were made before."""

    def __init__(self, graph: Any, root: nn.Module | None, outside: str, copies: bool) -> None:
        super().__init__()
        self.graph, self.outside = graph, outside
        self.nodes: list[Node] = []
        self.values: list[Value] = []
        self.table: dict[
            int, Value
        ] = {}  # the present value of each tensor; holds the tensors, so that no id comes twice
        self.memory = Memory(self.values, copies)
        self.modules = Modules(root, self._acts)
        self.modules.finished = self._module_finished
        self._inner: dict[int, tuple[Tensor, Node]] = {}  # results inside a torch.autograd.Function
        self._function: tuple[FrameType, Node] | None = None  # the last one that ran
        self.unseen_nodes: dict[
            int, Node
        ] = {}  # for values that came from nowhere, a node should there be a reason for it
        self.complete = True
        self._eager = HookedWatch({})  # compiled models run eagerly, in the whole process

    @override
    def __enter__(self) -> "Capture":
        self._eager.open()
        _recording.set((*_recording.get(), self))
        self.modules.__enter__()
        super().__enter__()
        return self

    @override
    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.modules.__exit__(*error)
        _recording.set(tuple(one for one in _recording.get() if one is not self))
        self._eager.close()
        self._function = None

    def _acts(self) -> bool:
        # what an activation checkpoint computes again inside backward is no new operator
        return self in _recording.get() and torch._C._current_graph_task_id() == -1

    @override
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kind = _kinds.get(function)
        if kind is None:
            kind = _kinds.setdefault(function, describe(function))
        kwargs = kwargs or {}
        if kind[1] or not self._acts():  # silent: four in five calls ask for a shape or a dtype
            if kind[0] == "backward" and self._acts():
                kwargs = _keeping_graph(kwargs)
            return function(*args, **kwargs)
        if torch._C._are_functorch_transforms_active():  # tensors that do not outlive the transform
            self.complete = False
            return function(*args, **kwargs)
        if not torch.is_grad_enabled() and (frame := _function_frame()) is not None:
            return self._run_hidden(frame, kind, function, args, kwargs)
        return self._run(kind, function, args, kwargs)

    def _run(self, kind: Kind, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = list(tensors_in(args))
        if kwargs:
            found += tensors_in(kwargs.values())
        aims = targets(kind, args, kwargs) if kind.writes or kind.inplace or kind.written or "out" in kwargs else []
        if aims and _is_initialisation(aims, self.table):
            return function(*args, **kwargs)
        reads = [self.value_of(x) for x in found]
        state = random_state(found) if kind.random and torch.is_grad_enabled() else None
        roots = [self.value_of(self.memory.root(x)) for x in aims]
        for x in aims:
            self.memory.before_write(x)
        out = function(*args, **(kwargs if kind.repeats else _keeping_graph(kwargs)))
        results = [out] if isinstance(out, Tensor) else list(tensors_in((out,)))
        # found by their versions: writes that no name tells of
        changed = [x for x, v in zip(found, reads) if not v.stale and v.version is not None and x._version != v.version]
        if not results and not aims and not changed:
            return out
        new = [x for x in results if not any(x is one for one in found)]
        if not new and not aims and not changed:
            return out  # it returned its input unchanged, as dropout in evaluation does: no operator
        node = self.add_node(kind.name, reads)
        node.opaque = not kind.repeats
        node.called = Call(function, args, kwargs, state, _autocast()) if kind.repeats else None
        for x in changed:
            roots.append(self.value_of_memory(x))
            self.memory.after_write(x, kind.name)
        if roots:
            self._add_writes(node, [*aims, *changed], roots, found)
        for x in new:
            self.add_output(node, x)
        return out

    def value_of_memory(self, x: Tensor) -> Value:
        """The value that the memory of x held before it was written to, as far as it is known."""
        known = self.table.get(id(self.memory.root(x)))
        return self.table[id(x)] if known is None else known

    def _add_writes(self, node: Node, aims: list[Tensor], roots: list[Value], found: list[Tensor]) -> None:
        for x, before in zip(aims, roots):
            root = self.memory.root(x)
            number = next((v.number for v in node.outputs if v.live is root), len(node.outputs))
            for i, edge in enumerate(node.inputs):
                if found[i] is x:
                    node.written[i] = number
                    if edge.value is not before:  # a view: what it writes to is the tensor that owns the memory
                        edge.value.consumers.remove(edge)
                        edge.value = before
                        before.consumers.append(edge)
            if number == len(node.outputs):
                self.add_output(node, root)

    def _run_hidden(
        self, frame: FrameType, kind: Kind, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An operator inside a torch.autograd.Function, which has a backward of its own: all of it is one node."""
        if self._function is None or self._function[0] is not frame:
            given = list(tensors_in((frame.f_locals["args"], frame.f_locals["kwargs"])))
            node = self.add_node(frame.f_locals["cls"].__name__, [self.value_of(x) for x in given])
            node.is_function, node.called = True, Call(frame.f_locals["cls"].apply, frame.f_locals["args"], {})
            self._function = (frame, node)
        node = self._function[1]
        for x in targets(kind, args, kwargs):
            self.memory.before_write(x)
            self._inner[id(x)] = (x, node)
        out = function(*args, **kwargs)
        for x in tensors_in((out,)):
            self._inner[id(x)] = (x, node)
        return out

    # -----------------------------------------------------------------------------------------------------------------

    def add_node(self, name: str, reads: list[Value], implicit: bool = False) -> Node:
        node = self._new_node(name, implicit=implicit)
        self.nodes.append(node)
        for i, value in enumerate(reads):
            edge = Edge(value, node, i)
            node.inputs.append(edge)
            value.consumers.append(edge)
        return node

    def _new_node(self, name: str, **fields: Any) -> Node:
        path, call, within = self.modules.path, self.modules.call, self.modules.within
        return Node(len(self.nodes), name, path, call, within=within, graph=self.graph, **fields)

    def add_output(self, node: Node, x: Tensor) -> Value:
        value = self._add_value("value", x)
        value.producer, value.number = node, len(node.outputs)
        node.outputs.append(value)
        return value

    def _add_value(self, kind: str, x: Tensor) -> Value:
        value = Value(len(self.values), kind, sides_of(x), x.dtype)
        value.graph, value.live = self.graph, x
        value.version = None if x.is_inference() else x._version
        value.made_without_graph = not torch.is_grad_enabled()
        self.values.append(value)
        self.table[id(x)] = value
        return value

    def value_of(self, x: Tensor) -> Value:
        """The value that a tensor holds now."""
        value = self.table.get(id(x))
        if value is not None and not value.stale and (value.version is None or value.version == x._version):
            return value
        if id(x) in self._inner:
            return self.add_output(self._inner.pop(id(x))[1], x)
        if value is None:
            return self._unrecorded_value(x)
        root = self.memory.root(x)
        if root is x:  # written by something that was not recorded, or through an alias outside autograd's knowledge
            before = value
            node = self.add_node("changed", [before], implicit=True)
        else:
            before = self.value_of(root)
            node = self.add_node("alias", [before], implicit=True)
            node.called = Call(torch.as_strided, (root, x.shape, x.stride(), x.storage_offset()), {})
        now = self.add_output(node, x)
        # No operator ran here: whether there is a gradient was decided when the memory was written, not when x is read.
        now.made_without_graph = before.made_without_graph
        return now

    def _unrecorded_value(self, x: Tensor) -> Value:
        """A tensor that no recorded operator made."""
        kind, name, others = self.modules.names.get(id(x), ("", "", ()))
        if not kind:
            learnt = isinstance(x, nn.Parameter) or (self.outside == "constant" and x.requires_grad and x.is_leaf)
            kind = "parameter" if learnt else self.outside
        value = self._add_value(kind, x)
        value.given_name, value.other_names = name, others
        value.made_without_graph = False
        if x.grad_fn is not None:
            function = getattr(x.grad_fn, "_forward_cls", None)  # a torch.autograd.Function without torch inside
            self.unseen_nodes[id(value)] = self._new_node(
                "unseen" if function is None else function.__name__, opaque=True
            )
        return value

    def _module_finished(
        self, group: ModuleGroup, module: nn.Module, given: tuple[Any, ...], output: Any, fused: bool
    ) -> None:
        known = all(id(x) in self.table or id(x) in self._inner for x in tensors_in((output,)))
        scripted = isinstance(module, torch.jit.ScriptModule)
        if (fused or scripted) and not known:
            owned = [*module.parameters(), *module.buffers()] if scripted else []
            node = self.add_node(kind_of(module), [self.value_of(x) for x in tensors_in((*given, owned))])
            node.opaque = True
            for x in tensors_in((output,)):
                if id(x) not in self.table:
                    self.add_output(node, x)
        group.outputs.append([self.value_of(x) for x in tensors(output)])

    def forget(self) -> None:
        """Frees what was needed for recording only."""
        self.table.clear()
        self._inner.clear()
        self.memory = Memory([], False)


@contextmanager
def unrecorded() -> Iterator[None]:
    """A context for our own computations, which no recording around it records."""
    token = _recording.set(())
    try:
        yield
    finally:
        _recording.reset(token)


def _keeping_graph(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the recorded code's backward pass, with retain_graph set, so that ours can follow."""
    return {**kwargs, "retain_graph": True} if kwargs.get("retain_graph") is None else kwargs


def _is_initialisation(aims: list[Tensor], known: Container[int]) -> bool:
    """Whether a call writes the initial values of parameters that no operator has used yet."""
    return all(isinstance(x, nn.Parameter) and id(x) not in known for x in aims)


def _autocast() -> tuple[str, torch.dtype] | None:
    if not torch._C._is_any_autocast_enabled():
        return None
    kind = next((kind for kind in ("cuda", "cpu") if torch.is_autocast_enabled(kind)), None)
    return None if kind is None else (kind, torch.get_autocast_dtype(kind))


def _function_frame() -> FrameType | None:
    """The call of the outermost torch.autograd.Function that this runs in, as far as gradients are switched off."""
    frame: FrameType | None = sys._getframe(2)
    found = None
    while frame is not None:
        if frame.f_code is _APPLY:
            found = frame
        frame = frame.f_back
    return found


__all__ = ["Capture", "unrecorded"]
