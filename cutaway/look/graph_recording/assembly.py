r"""Assembles a graph from a recording: drops what is no part of the pass, and gives the rest numbers and names."""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from types import FrameType
from typing import Any

from torch import Tensor

from cutaway.look.graph_recording.capture import Capture
from cutaway.look.graph_recording.elements import Value
from cutaway.look.graph_recording.memory import _place, remember
from cutaway.look.graph_recording.module_calls import Names
from cutaway.look.graph_recording.torch_functions import replaced
from cutaway.look.graph_recording.unrecorded import add_unseen


def finish(capture: Capture, outputs: Iterable[Value]) -> None:
    """Numbers nodes and values, after dropping what is no part of the pass."""
    _drop_initialisers(capture, {id(value) for value in outputs})
    if add_unseen(capture.nodes, capture.values, capture.unseen_nodes):
        capture.complete = False
    kept = {id(node) for node in capture.nodes}
    capture.values[:] = [v for v in capture.values if v.producer is None or id(v.producer) in kept]
    capture.values[:] = [v for v in capture.values if v.producer is not None or v.consumers or v.kind == "input"]
    numbers: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for i, node in enumerate(capture.nodes):
        node.index = i
        numbers[node.name] += 1
        node.number = numbers[node.name]
        address = f"{node.module}.{node.name}" if node.module else node.name
        places[address] += 1
        node.address = address if places[address] == 1 else f"{address}_{places[address]}"
    for i, value in enumerate(capture.values):
        value.index = i


def _drop_initialisers(capture: Capture, outputs: set[int]) -> None:
    """Drops the operators that initialised parameters made inside the pass, with the values that only they read.

    Tensors that were filled with numbers but never read are dropped too.
    """
    parameters = {_place(v.live) for v in capture.values if v.kind == "parameter" and v.live is not None}
    gone: set[int] = set()
    orphans: set[int] = set()  # values that only dropped nodes had read
    for node in reversed(capture.nodes):
        if node.is_function and not node.outputs:  # its results were made without torch functions
            gone.add(id(node))
            for edge in node.inputs:
                edge.value.consumers.remove(edge)
            continue
        if not node.outputs or any(value.consumers or id(value) in outputs for value in node.outputs):
            continue
        from_parameter = any(edge.value.kind == "parameter" for edge in node.inputs)
        starts = (
            parameters
            and not from_parameter
            and any(_place(v.live) in parameters for v in node.outputs if v.live is not None)
        )
        if starts or not node.inputs or all(id(value) in orphans for value in node.outputs):
            gone.add(id(node))
            for edge in node.inputs:
                edge.value.consumers.remove(edge)
                orphans.add(id(edge.value))
    capture.nodes[:] = [node for node in capture.nodes if id(node) not in gone]


def drop_contents(capture: Capture, keep: str, limit: int | None) -> None:
    """Frees the contents that were not asked for, or are above the limit."""
    for value in capture.values:
        if keep == "all" and (limit is None or value.numel() <= limit):
            continue
        remember(value)
        if keep == "statistics":
            _ = value.statistics  # counted while the content is there
        value.left_out = value.left_out or (
            f"its {value.numel():,} entries are above limit={limit:,}"
            if keep == "all"
            else f"keep={keep!r} was asked for"
        )
        value.live = value.copy = None
    for node in capture.nodes:
        if node.called is not None and any(edge.value.live is None for edge in node.inputs):
            call = node.called
            plain = [replaced(part, repeat(None)) for part in (call.arguments, call.keywords)]
            node.called = call._replace(arguments=plain[0], keywords=plain[1])


# ---------------------------------------------------------------------------------------------------------------------
# Names of tensors that came from outside: those of the variables that hold them.


def name_outsiders(values: Iterable[Value], variables: Mapping[str, Any], owned: Names) -> None:
    """Names values from outside: by the module that owns one, else by the variable that holds it, else by its kind."""
    unnamed = [v for v in values if (v.producer is None or v.producer.opaque) and not v.given_name]
    if not unnamed:
        return
    names: dict[int, str] = {}
    for name, content in variables.items():
        if isinstance(content, Tensor) and not name.startswith("_"):
            names.setdefault(id(content), name)
    taken = {v.given_name for v in values}
    counts: Counter[str] = Counter()
    for value in unnamed:
        if id(value.live) in owned:
            value.kind, name, value.other_names = owned[id(value.live)]
        else:
            name = names.get(id(value.live), "")
        if name in taken:
            name = ""
        if not name and value.producer is None:
            counts[value.kind] += 1
            name = f"{value.kind} {counts[value.kind]}"
        taken.add(name)
        value.given_name = name


def variables_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables from outside that a function uses."""
    function = inspect.unwrap(function)
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        return {}
    used = inspect.getclosurevars(function)
    return {**used.globals, **used.nonlocals}


def variables_in(frame: FrameType) -> dict[str, Any]:
    """The variables that are visible to the code of a frame."""
    here = frame.f_locals
    found = {**frame.f_globals, **here}
    if isinstance(here, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.gettrace() is None:
        here.clear()  # before Python 3.13 a snapshot that would keep all of them alive as long as the frame
    return found


def is_end(value: Value) -> bool:
    """Whether no operator that passes gradients back has read a value (printing it, or counting hits, does not)."""
    if not value.requires_grad or value.made_without_graph:
        return not value.consumers
    return not any(made.requires_grad for edge in value.consumers for made in edge.consumer.outputs)


def callers_frame() -> FrameType | None:
    """The frame of the code that uses us."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        place, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        ours = place.split(".")[0] in ("cutaway", "jaxtyping", "beartype", "contextlib")
        if not ours and not file.startswith("<@beartype"):
            return frame
        frame = frame.f_back
    return None


__all__ = ["callers_frame", "drop_contents", "finish", "is_end", "name_outsiders", "variables_in", "variables_of"]
