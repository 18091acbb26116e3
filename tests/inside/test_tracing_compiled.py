"""Compiled models: traced eagerly, by every way of compiling; quiet taps cost neither a graph break nor a recompile."""

import copy
import os
import subprocess
import sys
import threading

import pytest
import torch
from looking import FUSED, TELLING, WRITTEN_OUT, Layers, ThreeSum, assert_nothing_left, chain
from torch import nn

import cutaway as cut

pytestmark = pytest.mark.untyped


class Counting:
    """A backend that counts the graphs it compiles and the calls of them, and runs them as they are."""

    def __init__(self) -> None:
        self.compiled = self.ran = 0

    def __call__(self, graph, inputs):
        self.compiled += 1

        def run(*args):
            self.ran += 1
            return graph.forward(*args)

        return run


@pytest.fixture
def backend():
    torch._dynamo.reset()
    yield Counting()
    torch._dynamo.reset()


def by_wrapper(model, backend):
    return model, torch.compile(model, backend=backend, fullgraph=True)


def by_method(model, backend):
    model.compile(backend=backend, fullgraph=True)
    return model, model


def by_function(model, backend):
    return model, torch.compile(lambda x: model(x), backend=backend, fullgraph=True)


def by_wrapper_traced_through_it(model, backend):
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    return compiled, compiled


def by_part(model, backend):
    model.b = torch.compile(model.b, backend=backend, fullgraph=True)
    return model, model


WAYS = [by_wrapper, by_method, by_function, by_wrapper_traced_through_it, by_part]


@pytest.mark.parametrize("first_run", ["before", "inside"])
@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_is_traced_and_then_runs_its_graph_again(way, first_run, backend):
    model, x = Layers(), torch.randn(7, 3)
    expected, hidden = model(x), model.b(torch.tanh(model.a(x)))
    looked_at, run = way(model, backend)
    if first_run == "before":
        torch.testing.assert_close(run(x), expected)
        assert (backend.compiled, backend.ran) == (1, 1)
    before = backend.ran
    with cut.trace(looked_at, "b", "input") as seen:
        assert torch.equal(run(x), expected)
    assert torch.equal(seen["b"], hidden)
    assert torch.equal(seen["input"], x)
    with cut.patch(looked_at, {"b": 0.0}):
        torch.testing.assert_close(run(x), model.c(torch.zeros(7, 3)))
    assert backend.ran == before  # nothing compiled ran meanwhile
    for _ in range(2):
        torch.testing.assert_close(run(x), expected)
    assert backend.compiled == 1  # the graph from before, or a first one: no second
    assert backend.ran == before + 2
    assert_nothing_left(model)


def test_gradients_of_a_compiled_model(backend):
    model, x = chain(), torch.randn(7, 3)
    compiled = torch.compile(model, backend="aot_eager")
    compiled(x).sum().backward()
    with cut.trace(compiled, "0", gradients=True) as seen:
        loss = compiled(x).sum()
    loss.backward()
    h = model[0](x).detach().requires_grad_()
    model[2](torch.tanh(h)).sum().backward()
    assert torch.equal(seen.gradient["0"], h.grad)


def test_quiet_taps_leave_no_graph_break_and_no_recompile(backend):
    block = ThreeSum()
    compiled = torch.compile(block, backend=backend, fullgraph=True)
    for _ in range(3):
        assert compiled(TELLING) == FUSED
        with cut.trace(block, "partial") as seen:
            assert compiled(TELLING) == FUSED
        assert seen["partial"] == 0.0
        with cut.patch(block, {"partial": lambda value: value}):
            assert compiled(TELLING) == WRITTEN_OUT
    assert compiled(TELLING) == FUSED
    assert (backend.compiled, backend.ran) == (1, 4)


def test_a_copy_made_while_somebody_looks_compiles_whole(backend):
    model, x = nn.Sequential(*chain(), nn.Unflatten(0, (7, 1)), ThreeSum()), torch.randn(7, 3)
    model[2] = nn.Linear(5, 3)
    with cut.trace(model, "0", "2.input", "4.partial"):
        twin = copy.deepcopy(model)
        expected = model(x)
    compiled = torch.compile(twin, backend=backend, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), expected)
    assert (backend.compiled, backend.ran) == (1, 2)


def test_the_stance_is_held_until_the_last_session_closes(backend):
    model, x = chain(), torch.randn(7, 3)
    compiled = torch.compile(model, backend=backend)
    first, second = cut.trace(model, "0"), cut.trace(model, "0")
    first.__enter__()
    seen = second.__enter__()
    compiled(x)
    first.__exit__(None, None, None)
    compiled(x)
    assert (len(seen.calls["0"]), backend.ran) == (2, 0)
    second.__exit__(None, None, None)
    compiled(x)
    assert backend.ran == 1


def test_a_stance_of_the_users_comes_back(backend):
    model, x = chain(), torch.randn(7, 3)
    compiled = torch.compile(model, backend=backend)
    with torch.compiler.set_stance("fail_on_recompile"):
        with cut.trace(model, "0"):
            compiled(x)
        with pytest.raises(RuntimeError, match="Detected recompile"):
            compiled(x)


def test_an_exception_gives_the_stance_back(backend):
    model = chain()
    compiled = torch.compile(model, backend=backend)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), cut.trace(compiled, "0"):
        compiled(torch.randn(7, 4))
    assert_nothing_left(model)


def test_another_thread_runs_eagerly_meanwhile_and_unpatched(backend):
    model, x = chain(), torch.randn(7, 3)
    eager = model(x)
    compiled = torch.compile(model, backend=backend)
    compiled(x)
    out = []
    with cut.patch(model, {"0": 0.0}):
        thread = threading.Thread(target=lambda: out.append(compiled(x)))
        thread.start()
        thread.join(30)
        compiled(x)
    assert torch.equal(out[0], eager)
    assert backend.ran == 1


def test_a_session_inside_compiled_code_is_refused(backend):
    model = chain()

    @torch.compile(backend=backend)
    def run(x):
        with cut.trace(model, "0") as seen:
            model(x)
        return seen["0"]

    message = (
        "a trace or patch must be opened outside compiled code, got one inside a torch.compile region; open it arou"
    )
    with pytest.raises(ValueError, match=message):
        run(torch.randn(7, 3))
    assert_nothing_left(model)


def test_a_checkpointed_part_that_is_compiled_runs_eagerly_both_times(backend):
    """Compiled code saves other tensors than eager code: the recomputation must be eager where the pass was."""
    part, x = chain(), torch.randn(7, 3)
    part(x).sum().backward()
    expected = part[0].weight.grad.clone()
    part.zero_grad()
    compiled = torch.compile(part, backend="aot_eager")
    with cut.trace(part, "0") as seen:
        loss = torch.utils.checkpoint.checkpoint(compiled, x, use_reentrant=False).sum()
    loss.backward()
    assert torch.equal(part[0].weight.grad, expected)
    assert len(seen.calls["0"]) == 1


FIRST_COMPILE_INSIDE = """
import sys, torch, cutaway as cut
assert "torch._dynamo" not in sys.modules
model, x = torch.nn.Sequential(torch.nn.Linear(3, 2)), torch.randn(5, 3)
with cut.trace(model, "0") as seen:
    torch.compile(model, backend="eager", fullgraph=True)(x)
assert seen["0"].shape == (5, 2)
"""


def test_a_process_may_compile_for_the_first_time_inside_a_trace():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", FIRST_COMPILE_INSIDE], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
