"""The checks that every registered block must pass; test_battery.py runs them over all, and users over their own.

`cases(entries)` pairs each block with the checks that apply to it: every case that is collected tests something.
"""

import copy
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import cutaway as cut
from cutaway.inside.address_globs import named_sites
from cutaway.inside.results import LookError
from cutaway.inside.taps import Tap
from cutaway.registry import Entry


def build(make: Callable[[], tuple[Any, ...]], dtype: torch.dtype) -> tuple[Any, list[Any]]:
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        block, *inputs = make()
    finally:
        torch.set_default_dtype(before)
    return block, inputs


def call(block: Any, inputs: list[Any]) -> Any:
    torch.manual_seed(1)  # blocks that draw random numbers draw the same ones each time
    return block(*inputs)


def floats(value: Any) -> list[Tensor]:
    return [x for x in pytree.tree_leaves(value) if isinstance(x, Tensor) and x.is_floating_point()]


def as_dtype(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).to(dtype)
    return pytree.tree_map_only(Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, value)


def parameters(block: Any) -> dict[str, nn.Parameter]:
    return dict(block.named_parameters()) if isinstance(block, nn.Module) else {}


@dataclass(frozen=True)
class Traits:
    """What a block's example has, and so which checks apply to it."""

    is_module: bool
    parameters: bool
    float_inputs: bool
    taps: tuple[str, ...]


@cache
def traits(entry: Entry) -> Traits:
    block, inputs = build(entry.example, torch.float64)
    is_module = isinstance(block, nn.Module)
    found = {id(tap): name for name, tap in named_sites(block).items() if isinstance(tap, Tap)} if is_module else {}
    taps = tuple(found.values())
    return Traits(is_module, bool(parameters(block)), bool(floats(inputs)), taps)


def check_gradients_reach_all(entry: Entry) -> None:
    block, inputs = build(entry.example, torch.float64)
    own = parameters(block)
    out = floats(call(block, inputs))
    sum((x * torch.randn_like(x)).sum() for x in out).backward()
    silent = [name for name, p in own.items() if p.requires_grad and (p.grad is None or not p.grad.abs().sum() > 0)]
    assert not silent, f"no gradient reaches {silent}"


def check_gradcheck(entry: Entry) -> None:
    block, inputs = build(entry.example, torch.float64)
    own = list(parameters(block).values())
    leaves, tree = pytree.tree_flatten(inputs)
    places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.is_floating_point()]
    free = [leaves[i].detach().clone().requires_grad_() for i in places]

    def run(*variables: Tensor) -> tuple[Tensor, ...]:
        given = list(leaves)
        for i, x in zip(places, variables):
            given[i] = x
        return tuple(x for x in floats(call(block, pytree.tree_unflatten(given, tree))) if x.requires_grad)

    # parameters are varied in place of their data, inputs as arguments
    assert torch.autograd.gradcheck(lambda *v: run(*v[: len(free)]), (*free, *own), eps=1e-6, atol=1e-5, fast_mode=True)


def check_state_round_trip(entry: Entry) -> None:
    first, inputs = build(entry.example, torch.float64)
    torch.manual_seed(7)
    second, _ = build(entry.example, torch.float64)
    for p in second.parameters():
        nn.init.constant_(p.data, 0.123)
    second.load_state_dict(first.state_dict())
    for x, y in zip(floats(call(first.eval(), inputs)), floats(call(second.eval(), inputs)), strict=True):
        assert torch.equal(x, y)


def check_single_precision(entry: Entry) -> None:
    block, inputs = build(entry.example, torch.float64)
    exact = floats(call(block, inputs))
    block, inputs = build(entry.example, torch.float64)
    rough = floats(call(as_dtype(block, torch.float32), as_dtype(inputs, torch.float32)))
    for x, y in zip(rough, exact, strict=True):
        assert x.dtype == torch.float32, f"float32 in, {x.dtype} out"
        torch.testing.assert_close(x.double(), y, rtol=1e-4, atol=1e-4)


def check_compiles(entry: Entry, backend: str = "aot_eager") -> None:
    block, inputs = build(entry.example, torch.float32)
    eager = floats(call(copy.deepcopy(block) if isinstance(block, nn.Module) else block, inputs))
    torch._dynamo.reset()
    fast = floats(call(torch.compile(block, fullgraph=True, backend=backend), inputs))
    for x, y in zip(fast, eager, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


def check_taps_fire(entry: Entry) -> None:
    block, inputs = build(entry.example, torch.float64)
    taps = traits(entry).taps
    plain = floats(call(block, inputs))
    block, inputs = build(entry.example, torch.float64)
    with cut.trace(block, taps) as seen:
        read = floats(call(block, inputs))
    assert set(seen) == set(taps), f"taps that never fire: {set(taps) - set(seen)}"
    for x, y in zip(plain, read, strict=True):
        assert torch.equal(x, y), "reading changed the output"
    for tap in taps:  # an edit at any tap must reach the output, through the written-out equation
        block, inputs = build(entry.example, torch.float64)
        with cut.patch(block, {tap: lambda v: v}):
            same = floats(call(block, inputs))
        for x, y in zip(plain, same, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-9, atol=1e-11)
        block, inputs = build(entry.example, torch.float64)
        with cut.patch(block, {tap: _shake}):
            other = floats(call(block, inputs))
        assert any(not torch.equal(x, y) for x, y in zip(plain, other, strict=True)), f"editing {tap} changes nothing"


def check_looking_changes_nothing(entry: Entry) -> None:
    """Reading what every module takes and gives, without gradients, leaves every bit of the output as it was."""
    for dtype in (torch.float32, torch.float64):
        for grads in (True, False):  # in training with gradients, in evaluation without
            outputs = []
            for looks in (False, True):
                block, inputs = build(entry.example, dtype)
                block.train(grads)
                every = ["output", *(["**", "**.input"] if any(named_sites(block)) else [])]
                look = cut.trace(block, every) if looks else nullcontext()
                with suppress(LookError), torch.set_grad_enabled(grads), look:  # a pass may reach no inner address
                    outputs.append(floats(call(block, inputs)))
            for x, y in zip(*outputs, strict=True):
                assert torch.equal(x.nan_to_num(), y.nan_to_num()), f"reading changed the output in {dtype}"


def _shake(value: Any) -> Any:
    return pytree.tree_map_only(
        Tensor, lambda x: x * 1.3 + 0.7 * torch.rand_like(x) if x.is_floating_point() else x, value
    )


def check_documented(entry: Entry) -> None:
    own = inspect.getdoc(entry.target) or ""
    file = inspect.getdoc(inspect.getmodule(entry.target)) or ""
    assert own, "no docstring"
    assert entry.equation, "neither the docstring nor its file's states an equation"
    assert re.search(r"\b(1[89]|20)\d\d\b", own + file), "no source (author and year) in the docstring or its file's"


def check_extremes(entry: Entry) -> None:
    if entry.extreme is not None:
        makes = [entry.extreme]
    else:

        def scaled(factor: float) -> Callable[[], tuple[Any, ...]]:
            def make() -> tuple[Any, ...]:
                block, *inputs = entry.example()
                scale = lambda x: x * factor if x.is_floating_point() else x
                return block, *pytree.tree_map_only(Tensor, scale, inputs)

            return make

        makes = [scaled(1e4), scaled(0.0)]
    for make in makes:
        block, inputs = build(make, torch.float32)
        inputs = pytree.tree_map_only(
            Tensor, lambda x: x.detach().clone().requires_grad_() if x.is_floating_point() else x, inputs
        )
        out = floats(call(block, inputs))
        assert all(not x.isnan().any() for x in out), "NaN in the output"
        out = [x for x in out if x.requires_grad]
        if out:
            sum(x.clamp(-1e30, 1e30).sum() for x in out).backward()
        slopes = [x.grad for x in [*floats(inputs), *parameters(block).values()] if x.grad is not None]
        assert all(not g.isnan().any() for g in slopes), "NaN in a gradient"


Check = Callable[[Entry], None]
# Which blocks a check is for; the name of a check without `check_` is that of its cases.
APPLIES: dict[Check, Callable[[Entry], bool]] = {
    check_gradients_reach_all: lambda entry: traits(entry).parameters,
    check_gradcheck: lambda entry: not entry.kinks and (traits(entry).float_inputs or traits(entry).parameters),
    check_state_round_trip: lambda entry: traits(entry).is_module,
    # a function of whole numbers alone makes floats of torch's default dtype
    check_single_precision: lambda entry: traits(entry).is_module or traits(entry).float_inputs,
    check_taps_fire: lambda entry: bool(traits(entry).taps),
    check_looking_changes_nothing: lambda entry: traits(entry).is_module,
    check_documented: lambda entry: True,
    check_extremes: lambda entry: True,
}


def name_of(check: Check) -> str:
    return check.__name__.removeprefix("check_")


def cases(entries: Iterable[Entry]) -> list[tuple[Entry, Check]]:
    """Every block with every check that applies to it."""
    return [(entry, check) for entry in entries for check, applies in APPLIES.items() if applies(entry)]


def representatives(entries: Iterable[Entry]) -> dict[str, Entry]:
    """One block for each kind, the one with the most taps: what the compiler must cope with is most likely in it."""
    best: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind not in best or len(traits(entry).taps) > len(traits(best[entry.kind]).taps):
            best[entry.kind] = entry
    return best
