"""The worked examples of backpropagation, and what a graph is: nodes, values, edges, modules, steps, JSON."""

import copy
import json
from collections import OrderedDict

import pytest
import torch
from graph_laws import assert_shares_add_up, assert_totals, names
from torch import Tensor, nn
from torch.nn import functional

import cutaway as cut
from cutaway.inside.taps import Tap
from cutaway.look.graphs import Graph, Node, Value


def leaf(value: float) -> Tensor:
    return torch.tensor(value, requires_grad=True)


def test_sigmoid_at_zero_has_a_quarter():
    g = cut.graph(torch.sigmoid, torch.zeros(()))
    assert names(g) == ["sigmoid"]
    assert g.output.item() == 0.5
    g.backward()
    assert g.inputs[0].delta == 0.25
    assert g.output.delta == 1


def test_line_by_hand():
    """y = wx + b: δ_x = w, δ_w = x, δ_b = 1."""
    w, x, b = leaf(2.0), leaf(3.0), leaf(1.0)
    with cut.record() as g:
        w * x + b
    g.backward()
    assert g.output.item() == 7
    assert {v.name: v.delta.item() for v in g.inputs} == {"w": 3.0, "x": 2.0, "b": 1.0}


def test_multiple_use_adds_up():
    """y = x² + 3x at x = 2: through the square 2x = 4 (2 for each factor), through the product 3."""
    x = leaf(2.0)
    with cut.record() as g:
        x * x + 3 * x
    g.backward()
    value = g["x"]
    assert [edge.delta.item() for edge in value.consumers] == [2.0, 2.0, 3.0]
    assert [edge.position for edge in value.consumers] == [0, 1, 0]
    assert value.delta == 7


def test_logistic_regression_of_two_points():
    """p = σ(x w + b), mean log loss: δ_s = (p − y)/N, δ_w = xᵀ δ_s, δ_b = Σ δ_s. At w = 0, b = 0: p = ½."""
    x, y = torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([1.0, 0.0])
    w, b = torch.zeros(2), torch.zeros(())

    def loss(w: Tensor, b: Tensor) -> Tensor:
        p = torch.sigmoid(x @ w + b)
        return -(y * p.log() + (1 - y) * (1 - p).log()).mean()

    g = cut.graph(loss, w, b).backward()
    assert g.output.item() == pytest.approx(0.6931471805599453)  # ln 2
    # δ_s = (½ − 1, ½ − 0)/2 = (−¼, ¼);  δ_w = −¼ (1, 2) + ¼ (3, −1) = (½, −¾);  δ_b = 0
    assert g["add"].delta.tolist() == pytest.approx([-0.25, 0.25])
    assert g["w"].delta.tolist() == pytest.approx([0.5, -0.75])
    assert g["b"].delta.item() == pytest.approx(0.0)
    assert {v.name for v in g.values if v.kind == "constant"} == {"x", "y"}
    assert_shares_add_up(g)


class Twice(nn.Module):
    """c(a(x)) + c(a(x)): one module called twice, an inner Sequential, a tap that nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Linear(3, 5), nn.Tanh())
        self.c = nn.Linear(5, 2)
        self.tap = Tap()

    def forward(self, x: Tensor, flip: bool = False) -> Tensor:
        y = self.c(self.a(x)) + self.c(self.a(-x if flip else x))
        if self.tap.live:
            y = self.tap(y)
        return y


def test_nodes_know_their_module_and_call():
    model = Twice()
    g = cut.graph(model, torch.randn(4, 3))
    assert names(g) == ["linear", "tanh", "linear", "linear", "tanh", "linear", "add"]
    assert [(node.module, node.call) for node in g.nodes] == [
        *(("a.0", 1), ("a.1", 1), ("c", 1), ("a.0", 2), ("a.1", 2), ("c", 2), ("", 1))
    ]
    assert g.nodes[3].within == (("", 1), ("a", 2), ("a.0", 2))
    assert {path: (m.kind, m.parent, m.calls) for path, m in g.modules.items()} == {
        "": ("Twice", None, 1),
        "a": ("Sequential", "", 2),
        "a.0": ("Linear", "a", 2),
        "a.1": ("Tanh", "a", 2),
        "c": ("Linear", "", 2),
    }
    assert [node.index for node in g.nodes] == list(range(7))
    assert [value.index for value in g.values] == list(range(len(g.values)))
    assert [node.address for node in g.nodes][:4] == ["a.0.linear", "a.1.tanh", "c.linear", "a.0.linear_2"]


def test_values_have_names_kinds_shapes_and_content():
    model, x = Twice(), torch.randn(4, 3)
    g = cut.graph(model, x, flip=True)
    told = {value.name: (value.kind, value.shape) for value in g.values}
    assert told["x"] == ("input", (4, 3))
    assert told["a.0.weight"] == ("parameter", (5, 3))
    assert told["linear 1"] == ("value", (4, 5))
    assert "neg 1" in told
    assert torch.equal(g["linear 1"].tensor, model.a[0](x))
    assert g["linear 1"].dtype == torch.float32
    assert g["a.0.weight"].tensor is model.a[0].weight
    assert [edge.consumer.title for edge in g["c.weight"].consumers] == ["linear 2", "linear 4"]
    assert g["linear 1"].producer is g.nodes[0]
    assert g.outputs == [g.output]
    assert g.output is g["add 1"] is g["add"]
    assert torch.equal(g.output.tensor, model(x, flip=True))
    assert len(g.edges) == sum(len(node.inputs) for node in g.nodes)
    assert g.edges[0].shape == (4, 3)


def test_totals_are_autograds_and_shares_add_up():
    g = cut.graph(Twice(), torch.randn(4, 3)).backward(delta="ones")
    assert assert_totals(g) == len(g.values)
    assert assert_shares_add_up(g) == 5  # x and the four parameters are used twice


def test_gradients_of_the_model_are_left_alone():
    model = Twice()
    cut.graph(model, torch.randn(4, 3)).backward(delta="ones")
    assert all(parameter.grad is None for parameter in model.parameters())


def test_backward_again_from_elsewhere():
    g = cut.graph(Twice(), torch.randn(4, 3)).backward(delta="ones")
    first = g["x"].delta
    g.backward("tanh 1", delta=torch.ones(4, 5))
    assert g["x"].delta is not first
    assert g.output.delta is None
    assert g.output.why_no_delta == "the output 'tanh 1' does not depend on it"
    assert_totals(g)
    g.backward(g.outputs[0].tensor, delta=torch.zeros(4, 2))
    assert not g["x"].delta.any()


def test_a_value_stands_in_for_its_tensor():
    g = cut.graph(lambda x: x * 2, torch.tensor([[1.0, -2.0]]))
    y = g.output
    assert torch.allclose(y, torch.tensor([[2.0, -4.0]]))
    assert torch.equal(y + 1, torch.tensor([[3.0, -3.0]]))
    assert torch.equal(1 - y, torch.tensor([[-1.0, 5.0]]))
    assert torch.equal(y @ y.tensor.T, torch.tensor([[20.0]]))
    assert y[0, 1] == -4
    assert len(y) == 1
    assert y.tolist() == [[2.0, -4.0]]
    assert torch.cat([y, y]).shape == (2, 2)
    assert (y > 0).tolist() == [[True, False]]
    assert torch.sum(input=y).item() == -2
    assert y.mean() == -1
    assert (y.device.type, y.ndim, y.size(1)) == ("cpu", 2, 2)
    assert torch.equal(torch.as_tensor(y), y.detach())
    first = cut.graph(lambda x: x[0, 0] * 2, y.detach()).output
    assert (float(first), int(first), f"{first:.1f}", f"{first}") == (4.0, 4, "4.0", "Value(mul 1, value, float32 ())")
    with pytest.raises(AttributeError, match="'Value' object has no attribute 'colour'"):
        _ = y.colour


def test_statistics():
    x = torch.tensor([0.0, 3.0, -4.0, torch.nan, torch.inf])
    seen = cut.graph(lambda x: x * 1, x).output.statistics
    assert (seen.min, seen.max, seen.norm, seen.zeros, seen.nans, seen.infinities) == (-4, 3, 5, 0.2, 1, 1)
    assert seen.mean == pytest.approx(-1 / 3)
    assert seen.std == pytest.approx(float(torch.tensor([0.0, 3, -4]).std(correction=0)))
    assert cut.graph(lambda x: x > 0, x).output.statistics.mean == pytest.approx(2 / 5)
    assert cut.graph(lambda x: x[:0], x).output.statistics.mean is None


def test_find_by_address():
    g = cut.graph(Twice(), torch.randn(4, 3))
    assert [node.title for node in g.find("a").nodes] == ["linear 1", "tanh 1", "linear 3", "tanh 2"]
    assert [node.title for node in g.find("*.linear*").nodes] == ["linear 2", "linear 4"]
    assert [node.title for node in g.find("**.tanh").nodes] == ["tanh 1"]
    assert [value.name for value in g.find("**.weight").values] == ["a.0.weight", "c.weight"]
    assert g["a.1"].name == "tanh 2"  # what its last call returned


def test_steps_forwards_and_backwards():
    w, x, b = leaf(2.0), leaf(3.0), leaf(1.0)
    with cut.record() as g:
        torch.sigmoid(w * x + b)
    forward = list(g.steps("forward"))
    assert [step.title for step in forward] == ["mul 1", "add 1", "sigmoid 1"]
    assert forward[0].formula == "y = x ⊙ z"
    assert [value.name for value in forward[0].reads] == ["w", "x"]
    assert [value.name for value in forward[0].writes] == ["mul 1"]
    g.backward()
    backward = list(g.steps("backward"))
    assert [step.node.name for step in backward] == ["sigmoid", "add", "mul"]
    assert backward[0].formula == "δ_x = δ_y ⊙ y(1 − y)"
    assert [value.name for value in backward[1].writes] == ["mul 1", "b"]
    assert [edge.delta.item() for edge in backward[2].shares] == [g["w"].delta.item(), g["x"].delta.item()]


def test_every_named_operator_has_words():
    listed = """linear matmul add mul sub div exp log tanh sigmoid relu gelu silu softmax log_softmax cross_entropy
    mse_loss sum mean layer_norm rms_norm embedding scaled_dot_product_attention view reshape transpose cat split
    getitem max sqrt pow dropout conv2d batch_norm permute chunk relu_ mul_"""
    for name in listed.split():
        rule = Node(0, name).rule
        assert rule is not None, name
        assert rule.words.endswith(".")
        assert "=" in rule.forward
        assert "δ" in rule.backward
    assert Node(0, "no_such_operator").rule is None


def test_an_operator_without_words_still_steps():
    x = torch.tensor(0.5, requires_grad=True)
    with cut.record() as g:
        torch.erfinv(x)
    g.backward()
    assert next(g.steps("forward")).words == "erfinv computes erfinv 1."
    assert next(g.steps("backward")).formula == "δ_x = J_fᵀ δ_y"


def test_json_holds_everything():
    g = cut.graph(Twice(), torch.randn(4, 3))
    before = json.loads(g.to_json())
    assert "delta" not in before["values"][0]
    told = json.loads(g.backward(delta="ones").to_json(content=12))
    assert [node["name"] for node in told["nodes"]] == names(g)
    assert told["nodes"][0]["rule"]["forward"] == "y = x Wᵀ + b"
    x = next(value for value in told["values"] if value["name"] == "x")
    assert x["content"] == [[pytest.approx(v, rel=1e-5) for v in row] for row in g["x"].tolist()]
    assert x["delta"] == [[pytest.approx(v, rel=1e-5) for v in row] for row in g["x"].delta.tolist()]
    weight = next(value for value in told["values"] if value["name"] == "a.0.weight")
    assert weight["content"] is None  # 15 entries
    assert weight["statistics"]["norm"] == pytest.approx(g["a.0.weight"].tensor.norm().item(), rel=1e-5)
    assert len(told["edges"]) == len(g.edges)
    assert told["modules"][1] == {"path": "a", "kind": "Sequential", "parent": "", "calls": 2}
    assert told["outputs"] == [g.output.index]


def test_json_takes_numbers_that_are_none():
    g = cut.graph(lambda x: x / 0, torch.tensor([0.0, 1.0]))
    value = json.loads(g.to_json())["values"][-1]
    assert value["content"] == [None, None]
    assert (value["statistics"]["nans"], value["statistics"]["infinities"]) == (1, 1)


def test_json_of_complex_numbers_and_all_digits():
    g = cut.graph(lambda z: z * 2, torch.tensor([1 / 3 + 2j], dtype=torch.complex128))
    assert json.loads(g.to_json())["values"][-1]["content"] == [[2 / 3, 4.0]]


def test_an_empty_delta_prints():
    g = cut.graph(lambda x: (x * 2).sum(), torch.empty(0, 3)).backward()
    assert repr(g).splitlines()[1].split()[-1] == "empty"
    assert repr(cut.graph(lambda x: x * torch.nan, torch.ones(())).backward()).splitlines()[1].endswith("|δ| 1")


def test_prints_as_a_table():
    text = repr(cut.graph(Twice(), torch.randn(4, 3)).backward(delta="ones"))
    assert text.splitlines()[0].split() == ["operator", "module", "reads", "shape", "δ"]
    assert text.splitlines()[1].split()[:4] == ["linear", "1", "a.0", "x,"]
    assert text.splitlines()[-1] == "7 operators, 16 edges; 1 input, 4 parameters"
    assert "more …" in repr(cut.graph(lambda x: sum(x * i for i in range(1, 40)), torch.ones(2)))
    assert repr(Graph()).endswith("0 operators, 0 edges")


def test_outputs_of_many_kinds():
    x = torch.randn(4)
    g = cut.graph(lambda x: {"twice": 2 * x, "parts": [x[:2], (x[2:], 7)]}, x)
    assert isinstance(g.output["twice"], Value)
    assert g.output["parts"][1][1] == 7
    assert torch.equal(g.output["parts"][1][0].tensor, x[2:])
    assert len(g.outputs) == 3


def test_inputs_of_many_kinds():
    x, y = torch.randn(3), torch.randn(3)
    g = cut.graph(
        lambda batch, scale: (batch["x"] * batch["pair"][0]).sum() * scale, {"x": x, "pair": (y, "s")}, scale=2.0
    )
    g.backward()
    assert [value.name for value in g.inputs] == ["batch[0]", "batch[1]"]
    assert torch.equal(g.inputs[0].delta, 2 * y)
    assert torch.equal(g.inputs[1].delta, 2 * x)


def test_a_container_without_floats_goes_in_as_it_is():
    seen: list[Tensor] = []
    given = OrderedDict(tokens=torch.tensor([1, 2]))

    def note(x: Tensor, notes: list[Tensor], batch: OrderedDict) -> Tensor:
        assert batch is given
        notes.append(x * 2)
        return notes[0].sum()

    cut.graph(note, torch.ones(2), seen, given)
    assert [x.tolist() for x in seen] == [[2, 2]]


def test_record_names_inputs_by_their_variables_and_lists_what_nobody_read():
    first, second = torch.ones(2), torch.ones(2, requires_grad=True)
    with cut.record() as g:
        kept = first * second
        kept.sum()
        kept.exp()
    assert [value.name for value in g.inputs] == ["first", "second"]
    assert [value.name for value in g.outputs] == ["sum 1", "exp 1"]
    assert g.output.name == "exp 1"
    g.backward("sum 1")
    assert g["second"].delta.tolist() == [1, 1]


def test_the_output_of_a_recording_is_the_loss_though_more_was_computed():
    w = torch.ones(3, requires_grad=True)
    with cut.record() as g:
        loss = (w * 2).sum()
        loss.detach().exp()
        (w > 0).float().mean()
        with torch.no_grad():
            w.mul_(0.5)
    assert [value.name for value in g.outputs] == ["sum 1", "exp 1", "mean 1", "mul_ 1"]
    assert g.output.name == "sum 1"
    assert torch.equal(g.output, loss)
    assert g.backward()["w"].delta.tolist() == [2, 2, 2]


def test_a_backward_pass_inside_a_recording_leaves_ours_possible():
    w = torch.ones(3, requires_grad=True)
    with cut.record() as g:
        (w * w).sum().backward()
    g.backward()
    assert torch.equal(g["w"].delta, w.grad)
    with cut.record() as g:
        torch.autograd.backward((w * w).sum())
        torch.autograd.grad((w * w * w).sum(), w)
    assert g.backward("sum 1")["w"].delta.tolist() == [2, 2, 2]
    assert g.backward("sum 2")["w"].delta.tolist() == [3, 3, 3]


def test_one_tensor_for_two_inputs_has_two_names():
    x = torch.ones(2)
    g = cut.graph(lambda a, b: (a * b).sum(), x, x).backward()
    assert g["a"] is g["b"]
    assert g["b"].delta.tolist() == [2, 2]


def test_a_module_that_is_copied_before_it_runs_keeps_its_names():
    model = nn.Linear(3, 3)
    g = cut.graph(lambda x: copy.deepcopy(model)(x) + model(x), torch.ones(1, 3))
    assert {v.name for v in g.values if v.kind == "parameter"} == {
        *("Linear.weight", "Linear.bias", "Linear_2.weight", "Linear_2.bias")
    }


def test_a_module_gives_what_its_own_hooks_made_of_it():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    with cut.patch(model, {"0": lambda x: x * 2}):
        g = cut.graph(model, torch.ones(1, 3))
    assert torch.equal(g["0"], 2 * model[0](torch.ones(1, 3)))
    assert not model[0]._forward_hooks


def test_a_module_with_hooks_that_calls_itself():
    class Twofold(nn.Module):
        def forward(self, x: Tensor, depth: int = 1) -> Tensor:
            return self(x, depth - 1) + 1 if depth else x * 3

    model = Twofold()
    model.register_forward_hook(lambda module, inputs, output: output * 2)
    g = cut.graph(model, torch.ones(()))
    assert g.output.item() == (2 * 3 + 1) * 2
    assert [len(made) for made in g.modules[""].outputs] == [1, 1]
    assert len(model._forward_hooks) == 1


def test_a_model_inside_a_recording_goes_by_its_class():
    model, other = Twice(), Twice()
    with cut.record() as g:
        functional.mse_loss(model(torch.ones(1, 3)), other(torch.ones(1, 3)))
    assert {"Twice", "Twice.a", "Twice.a.0", "Twice_2.c"} <= set(g.modules)
    assert g.modules["Twice"].parent == ""
    assert g.nodes[-1].module == ""
    assert "Twice_2.c.weight" in [value.name for value in g.values]


def test_a_method_of_a_model_knows_the_models_names():
    model = Twice()
    model.half = lambda x: model.a(x)
    g = cut.graph(nn.Module.__call__, model, torch.ones(1, 3))
    assert "Twice.a.0" in g.modules
    bound = cut.graph(model.forward, torch.ones(1, 3))
    assert [node.module for node in bound.nodes][:3] == ["a.0", "a.1", "c"]


def test_settings_of_an_operator():
    g = cut.graph(lambda x: x.sum(-1, keepdim=True).reshape(1, -1), torch.ones(2, 3))
    assert [node.arguments for node in g.nodes] == ["-1, keepdim=True", "1, -1"]


def test_values_go_into_another_graph():
    first = cut.graph(lambda x: x * 2, torch.ones(2))
    g = cut.graph(lambda pair: pair[0].sum() * 3, [first.output, 1]).backward()
    assert g.output.item() == 12
    assert g.inputs[0].delta.tolist() == [3, 3]


def test_draws_itself():
    g = cut.graph(Twice(), torch.randn(4, 3)).backward(delta="ones")
    assert g.to_svg().startswith("<svg")
    assert "</html>" in g.to_html()
    assert "<svg" in g._repr_html_()


def test_inputs_that_do_not_fit_are_named():
    model = nn.Linear(3, 2)
    message = r"over real inputs, got no inputs for Linear\(input\): missing a required argument: 'input'; pass what"
    with pytest.raises(ValueError, match=message):
        cut.graph(model)
    with pytest.raises(
        ValueError, match=r"got 2 inputs for Linear\(input\): too many positional arguments; .* cut.graph"
    ):
        cut.graph(model, torch.ones(3), torch.ones(3))
    with pytest.raises(
        ValueError, match=r"got 2 inputs for add\(x, \*, times=1\): got an unexpected keyword argument 'time'"
    ):
        cut.graph(add, torch.ones(3), time=2)


def add(x: Tensor, *, times: int = 1) -> Tensor:
    return x + times
