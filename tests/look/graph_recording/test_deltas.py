"""δ of values and shares of edges, operator by operator: against autograd, and against whole Jacobians."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from graph_laws import assert_shares_add_up, assert_totals, close, names, written_shares
from torch import Tensor
from torch.nn import functional

import cutaway as cut
from cutaway.look.graph_recording.composites import attention
from cutaway.look.graph_recording.torch_functions import tensors_in

tokens, classes = torch.tensor([[0, 2, 2], [1, 0, 3]]), torch.tensor([2, 0, 1])
# Each is used on x and on the same x again, so that no share is simply the total.
OPERATORS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "add": (lambda x, y: x + y, [(3, 4), (4,)]),
    "sub": (lambda x, y: x - y, [(3, 4), (3, 1)]),
    "rsub": (lambda x: 2 - x, [(3, 4)]),
    "mul": (lambda x, y: x * y, [(3, 4), (3, 4)]),
    "square of one": (lambda x: x * x, [(3, 4)]),
    "div": (lambda x, y: x / (y.square() + 1), [(3, 4), (3, 4)]),
    "rdiv": (lambda x: 1 / (2 + x.square()), [(3,)]),
    "pow": (lambda x: x**3, [(3, 4)]),
    "exp log": (lambda x: x.exp().add(1).log(), [(3, 4)]),
    "sqrt": (lambda x: x.square().add(1).sqrt(), [(3, 4)]),
    "tanh": (torch.tanh, [(3, 4)]),
    "sigmoid": (torch.sigmoid, [(3, 4)]),
    "relu": (functional.relu, [(3, 4)]),
    "relu in place": (lambda x: functional.relu(x * 1, inplace=True), [(3, 4)]),
    "gelu": (functional.gelu, [(3, 4)]),
    "silu": (functional.silu, [(3, 4)]),
    "softmax": (lambda x: x.softmax(-1), [(3, 4)]),
    "log_softmax": (lambda x: functional.log_softmax(x, 0), [(3, 4)]),
    "cross_entropy": (lambda x: functional.cross_entropy(x, classes, label_smoothing=0.1), [(3, 4)]),
    "mse_loss": (functional.mse_loss, [(3, 4), (3, 4)]),
    "sum": (lambda x: x.sum(0), [(3, 4)]),
    "mean": (lambda x: x.mean((0, 1)), [(3, 4)]),
    "max": (lambda x: x.max(-1).values, [(3, 4)]),
    "max and where": (lambda x: x.max(-1), [(3, 4)]),
    "linear": (functional.linear, [(2, 3, 4), (5, 4), (5,)]),
    "matmul": (lambda x, y: x @ y, [(3, 4), (4, 2)]),
    "matmul with itself": (lambda x: x @ x, [(3, 3)]),
    "einsum": (lambda x, y: torch.einsum("ij,kj->ik", x, y), [(3, 4), (2, 4)]),
    "conv1d": (functional.conv1d, [(2, 3, 7), (4, 3, 3), (4,)]),
    "batch_norm": (lambda x, w: functional.batch_norm(x, None, None, w, training=True), [(5, 3), (3,)]),
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (4,), w), [(3, 4), (4,)]),
    "embedding": (lambda w: functional.embedding(tokens, w), [(4, 3)]),
    "attention": (functional.scaled_dot_product_attention, [(2, 3, 4), (2, 5, 4), (2, 5, 4)]),
    "self-attention": (lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True), [(1, 2, 3, 4)]),
    "view": (lambda x: x.view(2, 6), [(3, 4)]),
    "transpose": (lambda x: x.transpose(0, 1), [(3, 4)]),
    "T": (lambda x: x.T, [(3, 4)]),
    "cat": (lambda x, y: torch.cat([x, y, x], -1), [(3, 4), (3, 2)]),
    "stack": (lambda x, y: torch.stack((x, y), 1), [(3, 4), (3, 4)]),
    "split": (lambda x: x.split([1, 3], -1), [(3, 4)]),
    "getitem": (lambda x: x[1:, [0, 2, 2]], [(3, 4)]),
    "where": (lambda x, y: torch.where(x > 0, x, y), [(3, 4), (3, 4)]),
    "masked_fill": (lambda x: x.masked_fill(x < 0, 7.0), [(3, 4)]),
    "expand": (lambda x: x.expand(3, 4), [(1, 4)]),
    "cumsum": (lambda x: x.cumsum(0), [(3, 4)]),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), [(3, 4)]),
    "norm": (lambda x: x.norm(dim=-1), [(3, 4)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_laws_of_an_operator(name: str):
    compute, shapes = OPERATORS[name]
    given = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def both(*xs: Tensor) -> Tensor:
        """The operator, and a second use of all that it reads and makes."""
        made = list(tensors_in((compute(*xs),)))
        outs = [y for y in made if y.is_floating_point()]
        return sum(((y * y).sum() * 0.5 + y.sin().sum() for y in outs), start=sum(x.cos().sum() for x in xs))

    g = cut.graph(both, *given).backward()
    assert assert_totals(g) > len(given)
    assert assert_shares_add_up(g) >= len(given)
    for node in g.nodes:
        if node.called is None or not any(value.delta is not None for value in node.outputs) or node.written:
            continue
        call = node.called
        read = [edge.value.tensor for edge in node.inputs]

        def again(*tensors: Tensor, call: Any = call) -> Any:
            from cutaway.look.graph_recording.torch_functions import replaced

            news = iter(tensors)
            return call.function(*replaced(call.arguments, news), **replaced(call.keywords, news))

        for edge, right in zip(node.inputs, written_shares(node, read, again)):
            if edge.delta is not None:
                assert right is not None
                assert close(edge.delta, right), edge
            else:
                assert right is None or not right.any() or not edge.value.requires_grad


def test_dropout_keeps_its_mask_when_run_again():
    x = torch.randn(50, dtype=torch.float64)

    def both(x: Tensor) -> Tensor:
        y = x * 1
        return (functional.dropout(y, 0.5) * torch.arange(50)).sum() + y.sum()

    torch.manual_seed(3)
    plain = both(x)
    torch.manual_seed(3)
    g = cut.graph(both, x)
    assert g.output.tensor.equal(plain)
    here = torch.get_rng_state()
    g.backward()
    dropped = g["dropout 1"].tensor == 0
    through, past = (edge.delta for edge in g["mul 1"].consumers)
    assert torch.equal(through, torch.where(dropped, 0.0, 2.0 * torch.arange(50)))
    assert torch.equal(past, torch.ones(50, dtype=torch.float64))
    assert torch.equal(torch.get_rng_state(), here)  # looking draws nothing


def test_batch_norm_is_counted_once():
    norm = torch.nn.BatchNorm1d(3)
    plain = torch.nn.BatchNorm1d(3)
    x = torch.randn(5, 3)
    plain(x)
    g = cut.graph(lambda x: (norm(x) * x).sum(), x).backward()
    assert [edge.delta is not None for edge in g["x"].consumers] == [True, True]
    assert torch.equal(norm.running_mean, plain.running_mean)
    assert torch.equal(norm.running_var, plain.running_var)
    assert norm.num_batches_tracked == 1


def test_shared_parameter_gets_a_share_from_each_use():
    layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    g = cut.graph(
        lambda x: layer(layer(x)).sum() + layer.weight.sum(), torch.randn(2, 3, dtype=torch.float64)
    ).backward()
    weight = g["Linear.weight"]
    assert len(weight.consumers) == 3
    assert torch.equal(weight.consumers[2].delta, torch.ones(3, 3))
    assert_shares_add_up(g)


def test_tied_parameters_are_one_value_with_two_names():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    g = cut.graph(model, torch.randn(2, 3))
    assert g["1.weight"] is g["0.weight"]
    assert g["0.weight"].other_names == ("1.weight",)
    assert len(g["0.weight"].consumers) == 2


def test_detached_parts_and_choices_have_none_and_say_why():
    x = torch.randn(3, 4)

    def mixed(x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = x.abs().max()
        best = x.argmax(-1)
        return (x / scale).sum() + (x.detach() * 2 * x).sum() + x[torch.arange(3), best].sum()

    g = cut.graph(mixed, x).backward()
    why = {name: g[name].why_no_delta for name in ("max 1", "argmax 1", "detach 1", "mul 1", "arange 1")}
    assert why == {
        "max 1": "it was made under torch.no_grad() or inference_mode()",
        "argmax 1": "it holds int64, and only real or complex numbers have a gradient",
        "detach 1": "it was cut from the graph by detach",
        "mul 1": "nothing that it was made of requires a gradient",
        "arange 1": "it holds int64, and only real or complex numbers have a gradient",
    }
    assert g["x"].why_no_delta == ""
    shares = {edge.consumer.name: edge for edge in g["x"].consumers}
    assert shares["argmax"].delta is None
    assert shares["argmax"].why_no_delta == "no gradient comes back through 'argmax 1'"
    assert_shares_add_up(g)


def test_inputs_that_want_none():
    x = torch.randn(3)
    g = cut.graph(lambda x, mask: (x * mask * torch.ones(3, requires_grad=True)).sum(), x, torch.ones(3)).backward()
    assert g["x"].delta is not None
    assert g["mask"].why_no_delta == "it does not require a gradient (requires_grad is False)"
    left = cut.graph(lambda x: x * torch.ones(3, requires_grad=True), x, deltas=False)
    assert not left["x"].requires_grad
    assert left["x"].tensor is x


def test_half_precision_runs_again_as_it_ran():
    layer = torch.nn.Linear(4, 4)
    x = torch.randn(3, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        g = cut.graph(lambda x: (layer(x) * layer(x)).sum(), x)
    g.backward()
    assert g["linear 1"].dtype == torch.bfloat16
    assert_totals(g)
    assert torch.allclose(sum(edge.delta for edge in g["x"].consumers), g["x"].delta, rtol=0.05, atol=0.05)


def test_a_gradient_inside_the_pass():
    """A gradient penalty, Σ (3x²)² + Σ x³: the share through the gradient itself is 36x³, through the power 3x²."""
    x = torch.randn(3, dtype=torch.float64)

    def penalty(x: Tensor) -> Tensor:
        y = (x**3).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        return slope.square().sum() + y

    g = cut.graph(penalty, x).backward()
    assert names(g) == ["pow", "sum", "grad", "square", "sum", "add"]
    assert torch.allclose(g["x"].delta, 36 * x**3 + 3 * x**2)
    shares = {edge.consumer.name: edge for edge in g["x"].consumers}
    assert torch.allclose(shares["grad"].delta, 36 * x**3)
    assert torch.allclose(shares["pow"].delta, 3 * x**2)
    unused = next(edge for edge in g["sum 1"].consumers if edge.consumer.name == "grad")
    assert unused.why_no_delta == "grad hands nothing back to what it read there"
    assert_shares_add_up(g)


def test_a_gradient_inside_reads_what_its_operators_saved():
    """The slope of sin(x²) is cos(x²)·2x: made of x, and of x² that lies between."""
    x = torch.randn(3, dtype=torch.float64)

    def slope(x: Tensor) -> Tensor:
        (found,) = torch.autograd.grad((x * x).sin().sum(), x, create_graph=True)
        return found.sum()

    g = cut.graph(slope, x).backward()
    node = next(node for node in g.nodes if node.name == "grad")
    assert [edge.value.name for edge in node.inputs] == ["sum 1", "x", "mul 1"]
    square = x * x
    assert torch.allclose(node.inputs[1].delta, 2 * square.cos())
    assert torch.allclose(node.inputs[2].delta, -2 * x * square.sin())
    assert_totals(g)
    assert_shares_add_up(g)


def test_complex_numbers():
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    g = cut.graph(lambda x: (torch.fft.fft(x).abs() * x).sum(), x).backward()
    assert_totals(g)
    assert_shares_add_up(g)


@pytest.mark.parametrize("masked", [None, torch.bool, torch.float64])
def test_attention_written_out(masked: Any):
    q, k, v = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64)
    mask = None if masked is None else torch.ones(5, 5).tril().to(masked)
    right = functional.scaled_dot_product_attention(q, k, v, mask, scale=0.3)
    assert torch.allclose(attention(q, k, v, mask, scale=0.3), right)
    grouped = functional.scaled_dot_product_attention(q, k[:, :2], v[:, :2], is_causal=True, enable_gqa=True)
    assert torch.allclose(attention(q, k[:, :2], v[:, :2], is_causal=True, enable_gqa=True), grouped)


def test_results_that_are_made_of_one_another():
    """h = o ⊙ tanh c: the δ of c is what its readers hand back, the way through h belongs to the operator."""
    cell = torch.nn.LSTMCell(2, 3, dtype=torch.float64)

    def two_steps(x: Tensor) -> Tensor:
        state = cell(x)
        state = cell(x, state)
        return state[0].sum()

    g = cut.graph(two_steps, torch.randn(4, 2, dtype=torch.float64)).backward()
    assert names(g) == ["zeros", "lstm_cell", "lstm_cell", "sum"]
    first, second = g.nodes[1:3]
    assert second.outputs[1].delta is None
    assert_shares_add_up(g)
    h, c = (value.tensor.detach().requires_grad_() for value in first.outputs)
    right = torch.autograd.grad(cell(g["x"].tensor.detach(), (h, c))[0].sum(), (h, c))
    assert all(torch.allclose(value.delta, part) for value, part in zip(first.outputs, right))


def test_long_chains_of_results_that_are_made_of_one_another():
    """1100 steps, more than Python calls may nest. With all weights 0 and the forget gate open, σ(40) = 1 in float64,
    every step hands δ_c on as it is. Then as many writes to one parameter, of which the last version is read last.
    """
    cell = torch.nn.LSTMCell(1, 1, dtype=torch.float64)
    for parameter in cell.parameters():
        parameter.data.zero_()
    cell.bias_ih.data[1] = 40  # of the gates i, f, g, o

    def steps(c: Tensor) -> Tensor:
        state = (torch.zeros(1, 1, dtype=torch.float64), c)
        for _ in range(1100):
            state = cell(torch.zeros(1, 1, dtype=torch.float64), state)
        return state[1].sum()

    g = cut.graph(steps, torch.zeros(1, 1, dtype=torch.float64)).backward()
    assert g["c"].delta.item() == 1
    assert {node.outputs[1].delta.item() for node in g.nodes if node.name == "lstm_cell"} == {1}
    weight = torch.ones(2, requires_grad=True)
    with cut.record() as g:
        for _ in range(1100):
            with torch.no_grad():
                weight.mul_(1)
            weight.sum()
    g.backward()
    assert g["weight"].delta.tolist() == [1, 1]
