"""Operators in place, writes to views, and torch.autograd.Functions: where a recording could lie."""

import numpy as np
import pytest
import torch
from graph_laws import assert_shares_add_up, assert_totals, names
from torch import Tensor, nn
from torch.nn import functional

import cutaway as cut


@pytest.fixture(autouse=True)
def _doubles(float64: None) -> None:
    """All of these in float64."""


def check(function, *inputs: Tensor):
    """Same bits as a plain pass on copies, and both laws."""
    plain = function(*(x.clone() for x in inputs))
    g = cut.graph(function, *inputs)
    assert torch.equal(g.output.tensor, plain)
    g.backward()
    assert_totals(g)
    assert_shares_add_up(g)
    return g


def test_in_place_makes_a_new_value_of_the_same_tensor():
    def compute(x: Tensor) -> Tensor:
        y = x + 1
        before = y.sum()
        y.mul_(3)
        y += 2
        return before + y.sum()

    x = torch.randn(3, 4)
    g = check(compute, x)
    assert names(g) == ["add", "sum", "mul_", "add_", "sum", "add"]
    assert torch.equal(g["add 1"].tensor, x + 1)  # kept before it was overwritten
    assert torch.equal(g["mul_ 1"].tensor, (x + 1) * 3)
    assert torch.equal(g["add_ 1"].tensor, (x + 1) * 3 + 2)
    assert [edge.consumer.name for edge in g["add 1"].consumers] == ["sum", "mul_"]


def test_setitem_returns_none_and_is_recorded():
    def compute(x: Tensor) -> Tensor:
        y = x * 2
        y[0] = x[1] * 3
        return (y + x).sum()

    g = check(compute, torch.randn(3, 4))
    assert names(g) == ["mul", "getitem", "mul", "setitem", "add", "sum"]
    assert not g["mul 1"].delta[0].any()  # overwritten: no δ
    assert g["setitem 1"].delta.sum() == 12


def test_a_write_through_a_view_changes_its_owner_and_other_views():
    def compute(x: Tensor) -> Tensor:
        y = x + 0
        first, second, flat = y[0], y[1], y.view(-1)
        before = first.sum()
        first.mul_(5)
        return (y.sin() * 2).sum() + (first + second).sum() + before + flat.sum()

    x = torch.randn(3, 4)
    g = check(compute, x)
    assert names(g).count("alias") == 3  # first, second and flat were seen again
    write = next(node for node in g.nodes if node.name == "mul_")
    assert write.inputs[0].value.name == "add 1"
    assert torch.equal(write.outputs[0].tensor[0], 5 * x[0])
    assert torch.equal(g["getitem 1"].tensor, x[0])


def test_a_write_to_the_owner_changes_a_view():
    def compute(x: Tensor) -> Tensor:
        y = x + 0
        turned = y.t()
        y.add_(x)
        return (turned * turned.detach()).sum()

    g = check(compute, torch.randn(3, 4))
    assert "alias" in names(g)


def test_in_place_by_an_argument():
    relu = nn.ReLU(inplace=True)
    g = check(lambda x: relu(x + 0).sum() + functional.dropout(x * 2, 0.5, False, True).sum(), torch.randn(5))
    assert g["add 1"].tensor.min() < 0  # kept as it was before
    assert g["dropout 1"].delta.tolist() == [1] * 5


def test_in_place_on_an_input_leaves_the_callers_alone():
    x = torch.ones(3)
    g = check(lambda x: (x.mul_(2) * x).sum(), x)
    assert g.output.item() == 12
    assert x.tolist() == [1, 1, 1]
    assert g["x"].tensor.tolist() == [1, 1, 1]


def test_one_tensor_on_both_sides_of_a_write():
    g = check(lambda x: (x.exp() + 1).add_(x).sub_(x.sin()).sum(), torch.randn(3))
    assert names(g) == ["exp", "add", "add_", "sin", "sub_", "sum"]


def test_writes_behind_autograds_back():
    def compute(x: Tensor) -> Tensor:
        y = x + 0
        y.data.mul_(3)
        return y.sum() + (y.detach() * y).sum()

    x = torch.randn(3)
    g = cut.graph(compute, x).backward()
    assert torch.equal(g["add 1"].tensor, x)
    assert "changed" in names(g)
    assert torch.equal(g["changed 1"].tensor, 3 * x)
    assert_shares_add_up(g)


def test_data_that_is_set_is_a_write():
    w = torch.ones(3, requires_grad=True)
    with cut.record() as g:
        (w * w).sum().backward()
        w.data = w.data - 0.1 * w.grad
        (w * w * w).sum()
    assert names(g) == ["mul", "sum", "data", "mul", "sub", "set_data", "mul", "mul", "sum"]
    first, second = g["w"], g["set_data 1"]
    assert first.tolist() == [1, 1, 1]
    assert second.tolist() == pytest.approx([0.8, 0.8, 0.8])
    g.backward()
    assert torch.allclose(second.delta, torch.full((3,), 3 * 0.64))
    assert_shares_add_up(g)


def test_a_view_of_a_parameter_without_gradients_has_none():
    """torch says that it requires one, and has none to give: spectral norm turns its weight so."""
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    g = cut.graph(lambda x: layer(x).sum(), torch.randn(2, 3)).backward()
    turned = next(value for value in g.values if value.name == "H 1")
    assert turned.requires_grad
    assert turned.why_no_delta == "it was made under torch.no_grad() or inference_mode()"
    assert_totals(g)
    assert_shares_add_up(g)
    weight = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        g = cut.graph(lambda: weight.t())
    with pytest.raises(ValueError, match=r"got 't 1' made under torch.no_grad\(\) or inference_mode"):
        g.backward(delta="ones")


def test_out_is_a_write():
    def compute(x: Tensor) -> Tensor:
        room = torch.zeros(3)
        with torch.no_grad():
            torch.exp(x, out=room)
        return (room * x).sum()

    g = check(compute, torch.randn(3))
    assert names(g) == ["zeros", "exp", "mul", "sum"]
    assert g["zeros 1"].tolist() == [0, 0, 0]


def test_a_training_step_inside():
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    with cut.record() as g:
        (weight * weight).sum().backward()
        optimizer.step()
        (weight * weight * weight).sum()
    first, second = g["weight"], g["add_ 1"]
    assert first.tolist() == [1, 1, 1]
    assert second.tolist() == pytest.approx([0.8, 0.8, 0.8])
    g.backward()
    assert torch.allclose(second.delta, torch.full((3,), 3 * 0.64))
    assert_shares_add_up(g)


class Cubed(torch.autograd.Function):
    """a³ and a b, with a backward of its own; forward leaks operators to whoever listens."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * a * a, a * b

    @staticmethod
    def backward(ctx, first, second):
        a, b = ctx.saved_tensors
        return 3 * first * a * a + second * b, second * a


class Late(torch.autograd.Function):
    @staticmethod
    def forward(a):
        return a.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, delta):
        return delta * ctx.saved_tensors[0]


class Reverse(torch.autograd.Function):
    """The identity forwards, the negative backwards."""

    @staticmethod
    def forward(ctx, a):
        return a.view_as(a)

    @staticmethod
    def backward(ctx, delta):
        return -delta


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(3)

    @staticmethod
    def backward(ctx, delta):
        return 3 * delta


cubed = Cubed.apply  # bound before any recording


def test_a_function_with_its_own_backward_is_one_node():
    def compute(x: Tensor) -> Tensor:
        y = x * 2
        first, second = cubed(y, x)
        return (second * y).sum() + first.sum() * second.sum()

    g = check(compute, torch.randn(3))
    assert names(g)[:2] == ["mul", "Cubed"]
    node = g.nodes[1]
    assert [value.shape for value in node.outputs] == [(3,), (3,)]
    assert [edge.value.name for edge in node.inputs] == ["mul 1", "x"]


def test_of_a_function_only_one_result_may_be_used():
    g = check(lambda x: (cubed(x, x * 2)[1] * x).sum(), torch.randn(3))
    assert names(g) == ["mul", "Cubed", "mul", "sum"]


def test_functions_of_other_kinds():
    assert names(check(lambda x: (Late.apply(x * 2) * x).sum(), torch.randn(3))) == ["mul", "Late", "mul", "sum"]
    g = check(lambda x: (Reverse.apply(x) * 3 + x).sum(), torch.randn(3))
    assert g["x"].delta.tolist() == [-2, -2, -2]
    assert "Dirty" in names(check(lambda x: (lambda y: y.sum() + (Dirty.apply(y) + x).sum())(x * 2), torch.randn(3)))


def test_a_function_without_torch_inside():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return torch.from_numpy(np.sin(a.detach().numpy()))

        @staticmethod
        def backward(ctx, delta):
            return delta * ctx.saved_tensors[0].cos()

    g = check(lambda x: (Sine.apply(x * 2) * x).sum(), torch.randn(3))
    assert names(g) == ["mul", "Sine", "mul", "sum"]


def test_functions_without_gradients():
    with torch.no_grad():
        g = cut.graph(lambda x: cubed(x, x)[0] + Late.apply(x), torch.randn(3))
    assert names(g) == ["Cubed", "Late", "add"]


@pytest.mark.parametrize("unseen_write", [False, True], ids=["seen by autograd", "under no_grad"])
def test_a_stale_view_that_is_first_used_under_no_grad(unseen_write: bool):
    """Whether anybody wants gradients when the view is next looked at says nothing about its own."""

    def compute(x: Tensor) -> Tensor:
        y = x * 1.0
        row = y[1]
        with torch.set_grad_enabled(not unseen_write):
            y.mul_(2)
        with torch.no_grad():
            row.sum()
        return (row * 3).sum() + y.sum()

    g = check(compute, torch.randn(2, 3))
    assert g["alias 1"].delta.tolist() == [3.0] * 3
    (share, _) = (edge.delta for edge in g["mul_ 1"].consumers)
    assert share.tolist() == [[0.0] * 3, [3.0] * 3]
    assert g.delta("mul_ 1").tolist() == [[1.0] * 3, [4.0] * 3]


def test_initialisation_is_left_out():
    with cut.record() as g:
        layer = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
        scale = nn.Parameter(torch.randn(3) * 0.1 + 1)
        nn.init.normal_(layer[0].weight)
        (layer(torch.ones(2, 4)) * scale).sum()
    assert names(g) == ["ones", "linear", "layer_norm", "mul", "sum"]
    assert [v.name for v in g.values if v.kind == "parameter"] == [
        *("Sequential.0.weight", "Sequential.0.bias", "Sequential.1.weight", "Sequential.1.bias", "scale")
    ]
    g.backward()
    assert_shares_add_up(g)


def test_a_write_to_a_parameter_in_use_is_recorded():
    layer, x = nn.Linear(3, 3), torch.ones(3)
    with cut.record() as g:
        layer(x)
        with torch.no_grad():
            layer.weight.zero_()
        layer(x)
    assert names(g)[-2:] == ["zero_", "linear"]
    assert g["Linear.weight"].tensor.any()
    assert not g["zero_ 1"].tensor.any()


def test_a_part_of_a_parameter_that_nobody_read_stays():
    weight = nn.Parameter(torch.ones(3))
    with cut.record() as g:
        weight[:2]
    assert names(g) == ["getitem"]
    assert g.output.name == "getitem 1"


def test_a_value_that_was_lost_says_so():
    @torch.library.custom_op("cutaway_tests::halve", mutates_args={"x"})
    def halve(x: Tensor) -> None:
        x.mul_(0.5)

    def compute(x: Tensor) -> Tensor:
        y = x.detach() * 2
        halve(y)
        return (y * x).sum()

    x = torch.randn(3)
    g = cut.graph(compute, x)
    assert torch.equal(g.output.tensor, (x * x).sum())
    lost = g["mul 1"]
    assert lost.tensor is None
    assert lost.why_no_tensor.startswith("it was changed in place")
    with pytest.raises(ValueError, match="a value must have been kept to be read, got 'mul 1' without content: it was"):
        lost.item()
