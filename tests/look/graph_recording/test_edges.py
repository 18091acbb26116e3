"""Contexts, limits, and what is said to those who ask for what cannot be had."""

import asyncio
import threading

import pytest
import torch
from graph_laws import names
from looking import FUSED, TELLING, ThreeSum, assert_nothing_left, chain
from torch import Tensor, nn

import cutaway as cut
from cutaway.look.graph_recording.assembly import callers_frame


def test_a_graph_takes_the_fused_path():
    model = ThreeSum()
    g = cut.graph(model, TELLING)
    assert torch.equal(g.output.tensor, FUSED)
    assert_nothing_left(model)


def test_nothing_is_left_behind_also_by_an_error():
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x).reshape(7)

    model = Fails()
    with pytest.raises(RuntimeError, match=r"invalid for input of size 3"):
        cut.graph(model, torch.ones(3))
    with pytest.raises(KeyError), cut.record():
        raise KeyError
    assert_nothing_left(model)
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert torch.overrides._get_current_function_mode() is None


def test_an_error_that_the_model_catches():
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bad, self.good = nn.Linear(7, 3), nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.bad(x)
            except RuntimeError:
                return self.good(x) + 1

    g = cut.graph(nn.Sequential(Tries(), nn.Tanh()), torch.ones(3))
    assert [(node.name, node.module.rsplit(".", 1)[-1]) for node in g.nodes][-1] == ("tanh", "1")
    assert names(g) == ["linear", "add", "tanh"]


def test_only_the_opening_thread_is_recorded():
    model, x, inside, done = chain(), torch.ones(1, 3), threading.Event(), threading.Event()

    def elsewhere() -> None:
        inside.wait()
        model(x).exp()
        done.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with cut.record() as g:
        model[0](x)
        inside.set()
        done.wait()
        x * 2
    thread.join()
    assert names(g) == ["linear", "mul"]
    assert list(g.modules) == ["Linear"]


def test_only_the_opening_task_is_recorded():
    x = torch.ones(3)

    async def other() -> None:
        await asyncio.sleep(0)
        x.exp()

    async def record() -> cut.look.Graph:
        task = asyncio.create_task(other())
        with cut.record() as g:
            x * 2
            await asyncio.sleep(0.01)
            x + 1
        await task
        return g

    assert names(asyncio.run(record())) == ["mul", "add"]


def test_recordings_nest():
    x = torch.ones(3)
    with cut.record() as outer:
        y = x * 2
        with cut.record() as inner:
            y + 1
        y - 1
    assert names(outer) == ["mul", "add", "sub"]
    assert names(inner) == ["add"]


def test_a_trace_and_a_graph_at_once():
    model, x = chain(), torch.ones(1, 3)
    with cut.trace(model, "0") as seen:
        g = cut.graph(model, x)
    assert torch.equal(seen["0"], g["0"].tensor)


def test_names_come_from_the_code_that_records():
    frame = callers_frame()
    assert frame is not None
    assert frame.f_code.co_name == "test_names_come_from_the_code_that_records"


@pytest.mark.parametrize(("keep", "why"), [("statistics", "keep='statistics'"), ("shapes", "keep='shapes'")])
def test_contents_are_let_go_by_choice(keep: str, why: str):
    model, x = chain(), torch.randn(4, 3)
    whole = cut.graph(model, x).backward(delta="ones")
    g = cut.graph(model, x, keep=keep).backward(delta="ones")
    assert g.output.tensor is None
    assert why in g.output.why_no_tensor
    assert (g.output.statistics == whole.output.statistics) == (keep == "statistics")
    assert (g.output.statistics is None) == (keep == "shapes")
    assert g.output.shape == (4, 2)
    assert torch.equal(g["0.weight"].delta, whole["0.weight"].delta)
    assert torch.equal(g["0.weight"].consumers[0].delta, whole["0.weight"].delta)  # one use: the total
    assert [node.arguments for node in g.nodes] == [node.arguments for node in whole.nodes]
    with pytest.raises(ValueError, match=r"got 'linear 2' without content: keep=.*; record it with keep='all'"):
        g.output.item()


def test_a_limit_leaves_out_large_contents_and_shares_that_need_them():
    x = torch.ones(10, requires_grad=True)
    g = cut.graph(lambda x: (x * x).sum(), x, limit=9).backward()
    assert g["x"].tensor is None
    assert g["x"].why_no_tensor == "its 10 entries are above limit=9"
    assert g.output.item() == 10
    assert g["x"].delta.tolist() == [2] * 10
    assert g["x"].consumers[0].delta is None
    assert g["x"].consumers[0].why_no_delta == (
        "'mul 1' would have to be run again, but it read 'x', of which there is no content: "
        "its 10 entries are above limit=9"
    )
    assert '"why_no_content": "its 10 entries are above limit=9"' in g.to_json()


def test_a_pass_in_inference_mode_is_seen_but_has_no_gradients():
    with torch.inference_mode():
        g = cut.graph(lambda x: (x * 2).add_(1)[0].mul_(3).sum(), torch.ones(2, 3))
    assert names(g) == ["mul", "add_", "getitem", "mul_", "sum"]
    assert g.output.item() == 27
    assert g["mul 1"].tolist() == [[2] * 3] * 2
    message = r"got 'sum 1' made under torch.no_grad\(\) or inference_mode\(\); record it outside of these"
    with pytest.raises(ValueError, match=message):
        g.backward()


def test_a_value_that_changed_after_the_recording_says_so():
    layer = nn.Linear(3, 3)
    g = cut.graph(layer, torch.ones(3))
    with torch.no_grad():
        layer.weight.zero_()
    message = r"got 'weight' without content: it was changed in place after it was recorded; read it before that"
    with pytest.raises(ValueError, match=message):
        g["weight"].sum()


def test_values_on_the_meta_device_have_shapes_only():
    g = cut.graph(nn.Linear(3, 2, device="meta"), torch.ones(4, 3, device="meta"))
    assert g.output.shape == (4, 2)
    assert g.output.why_no_tensor == "it is on the meta device, where tensors have a shape only"
    assert '"content": null' in g.to_json()


def test_one_result_needs_no_choice():
    g = cut.graph(lambda x: {"loss": (x * x).sum(), "name": "squares"}, torch.ones(3)).backward()
    assert g["x"].delta.tolist() == [2, 2, 2]


def test_messages_of_backward():
    model, x = chain(), torch.ones(4, 3)
    with torch.no_grad():
        g = cut.graph(model, x)
    with pytest.raises(
        ValueError, match=r"needs a pass with gradients enabled, got 'linear 2' made under torch.no_grad"
    ):
        g.backward(delta="ones")
    g = cut.graph(lambda x: x.argmax(), x)
    with pytest.raises(
        ValueError, match=r"depends on something by gradients, got 'argmax 1': it holds int64.*; start at"
    ):
        g.backward()
    g = cut.graph(lambda x: x.detach().sum(), x)
    with pytest.raises(ValueError, match=r"got 'sum 1': nothing that it was made of requires a gradient; start at"):
        g.backward()
    g = cut.graph(model, x)
    with pytest.raises(
        ValueError, match=r"got an output of shape \(4, 2\) without; pass delta='ones', a tensor of that"
    ):
        g.backward()
    with pytest.raises(
        ValueError, match=r"delta must have the output's shape, got \(2,\) for \(4, 2\); pass delta='ones'"
    ):
        g.backward(delta=torch.ones(2))
    with pytest.raises(ValueError, match=r"delta must be a tensor or 'ones', got 'zeros'; choose one of these"):
        g.backward(delta="zeros")
    with pytest.raises(
        ValueError, match=r"got a tensor of shape \(2,\) that is not in it; pass one of g.values.*as delta="
    ):
        g.backward(torch.ones(2))
    with pytest.raises(ValueError, match=r"got 'linear 2' of another; pass one of g.values"):
        g.backward(cut.graph(model, x).output)
    g = cut.graph(lambda x: (x * 2, x * 3), x)
    with pytest.raises(ValueError, match=r"starts at one value, got a tuple of several.*there are: 'mul 1', 'mul 2'"):
        g.backward()
    with pytest.raises(ValueError, match=r"starts at one value, got no output; choose one"), cut.record() as g:
        g.backward()


def test_messages_of_values_without_delta():
    g = cut.graph(lambda x, i: x[i].sum(), torch.ones(3), torch.tensor(1))
    assert g["x"].why_no_delta == "there was no backward pass yet: call g.backward()"
    with pytest.raises(ValueError, match=r"steps backwards need a backward pass, got none yet; call g.backward"):
        g.steps("backward")
    g.backward()
    with pytest.raises(
        ValueError, match=r"got none for 'i': it holds int64, and only real or complex.*; ask for a value"
    ):
        g.delta("i")
    with pytest.raises(ValueError, match=r"direction must be 'forward' or 'backward', got 'up'; choose one of these"):
        g.steps("up")
    with pytest.raises(
        KeyError, match=r"name a module, operator or value of the graph, got 'summ'; the nearest.*: sum"
    ):
        g.find("summ")


def test_messages_of_recording():
    with pytest.raises(
        ValueError, match=r"keep must be 'all', 'statistics' or 'shapes', got 'none'; choose one of these"
    ):
        cut.graph(torch.exp, torch.ones(1), keep="none")
    with pytest.raises(
        ValueError, match=r"limit must be a number of entries, 0 or more, got -1; leave it out to keep all"
    ):
        cut.record(limit=-1)
    with pytest.raises(
        ValueError, match=r"a graph needs a function that returns a tensor, got float; return the value"
    ):
        cut.graph(lambda x: x.sum().item(), torch.ones(1))
    with pytest.raises(
        ValueError, match=r"opened must name operators that are made of others, got 'tanh'; here .*: none"
    ):
        cut.graph(chain(), torch.ones(1, 3), opened="tanh")
    recording = cut.record()
    with recording:
        pass
    with pytest.raises(ValueError, match=r"a record can be entered once, got a second time; make a new one"), recording:
        pass


@pytest.mark.untyped
def test_a_keyword_of_ours_that_is_the_functions():
    with pytest.raises(ValueError, match=r"keep must be .*, got a Tensor; .*keyword of that name in a lambda\)"):
        cut.graph(lambda x, keep: x * keep, torch.ones(1), keep=torch.ones(1))


@pytest.mark.untyped
def test_only_what_runs_can_be_recorded():
    with pytest.raises(
        ValueError, match=r"a graph is recorded of a model or a function, got Tensor; pass one, uncalled"
    ):
        cut.graph(torch.ones(1), torch.ones(1))


def test_messages_of_what_autograd_refuses():
    def spoilt(x: Tensor) -> Tensor:
        y = x.exp()
        y.mul_(2)
        return y.sum()

    with pytest.raises(ValueError, match=r"got one that was changed in place afterwards.*; call g.backward\(\) before"):
        cut.graph(spoilt, torch.ones(3)).backward()
    x = torch.ones(3, requires_grad=True)
    with cut.record() as g:
        loss = (x * x).sum()
    loss.backward()
    with pytest.raises(
        ValueError, match=r"got one that an earlier backward pass has freed; call g.backward\(\) instead"
    ):
        g.backward()


def test_what_ran_before_an_error_is_there():
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(4, 2))  # whose last layer does not fit
    x = torch.ones(1, 3)
    with pytest.raises(RuntimeError, match="cannot be multiplied"), cut.record() as g:
        model(x)
    assert [node.name for node in g.nodes][:2] == ["linear", "relu"]
    assert tuple(g.nodes[1].outputs[0].shape) == (1, 5)
    assert "relu" in g.to_svg()


def test_sparse_values_are_drawn():
    sparse, x = torch.eye(2).to_sparse(), torch.ones(2, 1)
    with cut.record() as g:
        torch.sparse.mm(sparse, x)
    assert "<svg" in g.to_svg()
    assert "<svg" in g.to_html()
