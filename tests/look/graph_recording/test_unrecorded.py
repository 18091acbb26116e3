"""What no recorded operator made, and autograd still knows of: shares that add up also there."""

import gc
import threading
import warnings
import weakref

import pytest
import torch
from graph_laws import assert_shares_add_up, assert_totals, names
from torch import Tensor, nn

import cutaway as cut


@pytest.fixture(autouse=True)
def _doubles(float64: None) -> None:
    """All of these in float64."""


def scripted(what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(what)


def sine(x: Tensor) -> Tensor:
    return x.sin() * x


def test_tensors_made_before_the_recording():
    """y = 2w was made before, z = eʸ too: δ_w is y through the product, and what comes back through y."""
    w = torch.randn(3, requires_grad=True)
    y = w * 2
    z = y.exp()
    with cut.record() as g:
        z.sum() + (w * y).sum()
    assert [value.name for value in g.inputs] == ["z", "w", "y"]
    assert names(g) == ["unseen", "unseen", "sum", "mul", "sum", "add"]  # y before z, which is made of it
    assert [[edge.value.name for edge in node.inputs] for node in g.nodes[:2]] == [["w"], ["y"]]
    assert not g.complete
    g.backward()
    shares = {edge.consumer.title: edge.delta for edge in g["w"].consumers}
    assert torch.equal(shares["mul 1"], y)
    assert torch.allclose(shares["unseen 1"], 2 * (z + w))
    assert_totals(g)
    assert_shares_add_up(g)


def test_tensors_made_of_nothing_that_is_known_are_inputs():
    y = torch.randn(3, requires_grad=True) * 2
    with cut.record() as g:
        (y * y).sum()
    assert names(g) == ["mul", "sum"]
    assert g.complete
    g.backward()
    assert torch.equal(g["y"].delta, 2 * y)


def test_a_way_that_meets_another_value_is_not_counted_twice():
    """v = 2u + w with u = w² made before: the share of w through v is 1, the way through u is u's."""
    w = torch.randn(3, requires_grad=True)
    u = w * w
    v = 2 * u + w
    with cut.record() as g:
        (v * w * u).sum()
    g.backward()
    made = next(node for node in g.nodes if node.outputs[0].name == "v")
    shares = {edge.value.name: edge.delta for edge in made.inputs}
    assert torch.allclose(shares["w"], g["v"].delta)
    assert torch.allclose(shares["u"], 2 * g["v"].delta)
    assert_totals(g)
    assert_shares_add_up(g)


def test_another_thread():
    layer = nn.Linear(3, 3)

    def elsewhere(x: Tensor) -> Tensor:
        made: list[Tensor] = []
        thread = threading.Thread(target=lambda: made.append(layer(x * 2)))
        thread.start()
        thread.join()
        return (made[0] * x).sum()

    x = torch.randn(2, 3)
    g = cut.graph(elsewhere, x).backward()
    assert names(g) == ["unseen", "mul", "sum"]
    assert torch.allclose(g["x"].consumers[0].delta, layer(2 * x))  # through the product, not all of it
    assert_shares_add_up(g)


def test_transforms_of_functions():
    x = torch.randn(3, 4)
    g = cut.graph(lambda x: (torch.vmap(lambda row: row.exp().sum())(x) * x.sum()).sum(), x).backward()
    assert not g.complete
    assert torch.allclose(g["x"].delta, x.exp() * x.sum() + x.exp().sum())
    shares = {edge.consumer.name: edge.delta for edge in g["x"].consumers}
    assert torch.allclose(shares["sum"], x.exp().sum().expand(3, 4))
    assert torch.allclose(shares["unseen"], x.exp() * x.sum())


def test_a_scripted_module_is_one_node_that_reads_its_parameters():
    inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model = nn.Sequential(nn.Linear(3, 3), scripted(inner), nn.Linear(3, 1))
    x = torch.randn(2, 3)
    g = cut.graph(model, x)
    assert names(g) == ["linear", "Sequential", "linear"]
    assert [edge.value.name for edge in g.nodes[1].inputs] == ["linear 1", "1.0.weight", "1.0.bias"]
    assert torch.equal(g.output, model(x))
    g.backward(delta="ones")
    want = torch.autograd.grad(model(x).sum(), inner[0].weight)[0]
    assert torch.allclose(g.delta("1.0.weight"), want)
    assert_totals(g)
    assert_shares_add_up(g)


def test_a_scripted_function_is_unseen():
    function = scripted(sine)
    g = cut.graph(lambda x: function(x * 2).sum() + x.sum(), torch.randn(3)).backward()
    assert names(g) == ["mul", "unseen", "sum", "sum", "add"]
    assert next(iter(g.steps("forward"))).node.name == "mul"
    assert g.nodes[1].rule.backward == "δ_x = J_fᵀ δ_y"
    assert_totals(g)
    assert_shares_add_up(g)


def test_shares_without_content_where_autograd_knows_them():
    """With limit= the operator cannot be run again; each of its inputs stands at one position, so autograd can tell."""
    x = torch.randn(5, requires_grad=True)
    g = cut.graph(lambda x: (x.exp() * x).sum(), x, limit=1).backward()
    assert g["x"].tensor is None
    shares = {edge.consumer.name: edge.delta for edge in g["x"].consumers}
    assert torch.allclose(shares["exp"], x.exp() * x)
    assert torch.allclose(shares["mul"], x.exp())


def test_what_is_done_with_a_graph_is_no_part_of_another():
    layer, x = nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True)
    with cut.record() as outer:
        inner = cut.graph(lambda x: (layer(x) * x).sum(), x).backward()
        _ = [edge.delta for edge in inner.edges], inner.output.statistics, repr(inner), inner.to_json(), inner.to_svg()
        x * 2
    assert names(outer) == ["linear", "mul", "sum", "mul"]


def test_a_recording_holds_nothing_once_it_is_deleted():
    layer, x = nn.Linear(3, 3), torch.randn(2, 3)
    with cut.record() as g:
        y = layer(x)
    g.backward(delta="ones")
    held = [weakref.ref(g), weakref.ref(y)]
    del g, y
    gc.collect()
    assert [one() for one in held] == [None, None]
