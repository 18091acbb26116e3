"""Gradient flow: its numbers against a case worked by hand, autograd and closed forms; what it leaves as it was."""

import gc
import json
import math
import threading
import weakref

import pytest
import torch
from looking import Layers, assert_nothing_left, chain
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import cutaway as cut
from cutaway.inside.address_globs import UnknownAddress
from cutaway.inside.results import LookError


def rms(x: Tensor) -> float:
    return x.double().square().mean().sqrt().item()


def by_hand() -> nn.Sequential:
    """h = relu(x W₁), y = h w₂ with W₁ = diag(1, −1), w₂ = (2, 3)."""
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.diag(torch.tensor([1.0, -1.0])))
        model[2].weight.copy_(torch.tensor([[2.0, 3.0]]))
    return model


def test_a_net_of_two_layers_worked_by_hand():
    """x = (1 2 | 3 4): s = (1 −2 | 3 −4), h = (1 0 | 3 0), y = (2 | 6); for Σ y: δ_y = 1, δ_h = (2 3), δ_s = (2 0)."""
    model = by_hand()
    with cut.flow(model) as flow:
        model(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    s, h, y = flow.layers
    assert [x.address for x in (s, h, y)] == ["0", "1", "2"]
    assert [x.kind for x in (s, h, y)] == ["Linear", "ReLU", "Linear"]
    assert (s.mean, s.activation) == pytest.approx((-0.5, math.sqrt(7.5)))
    assert s.std == pytest.approx(math.sqrt(7.5 - 0.25))
    assert (h.activation, y.activation) == pytest.approx((math.sqrt(2.5), math.sqrt(20)))
    assert (y.delta, h.delta, s.delta) == pytest.approx((1.0, math.sqrt(6.5), math.sqrt(2)))
    assert (s.gradient, s.weight) == pytest.approx((math.sqrt(208), math.sqrt(2)))  # ∂/∂W₁ = (8 12 | 0 0)
    assert s.ratio == pytest.approx(math.sqrt(104))
    assert (y.gradient, y.weight) == pytest.approx((4.0, math.sqrt(13)))
    assert (h.units, h.dead_units, h.dead, h.weight, h.gradient, h.ratio) == (2, (1,), 0.5, None, None, None)
    assert (s.dead, s.saturated, h.saturated) == (None, None, None)
    assert flow["1"] == h
    assert "1 of 2 units of 1 is dead: 1." in flow.verdict


def test_norms_are_those_of_autograd(float64):
    model = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 5), nn.Sigmoid(), nn.Linear(5, 2))
    x, target = torch.randn(11, 3), torch.randn(11, 2)
    values = [x]
    for layer in model:
        values.append(layer(values[-1]))
    cost = (values[-1] - target).square().mean()
    deltas = torch.autograd.grad(cost, values[1:], retain_graph=True)
    weights = torch.autograd.grad(cost, list(model.parameters()))
    with cut.flow(model) as flow:
        (model(x) - target).square().mean().backward()
    for row, value, delta in zip(flow.layers, values[1:], deltas, strict=True):
        assert (row.activation, row.delta) == pytest.approx((rms(value), rms(delta)), rel=1e-12)
        assert (row.mean, row.std) == pytest.approx((value.mean().item(), value.std(correction=0).item()), rel=1e-12)
    for i, row in enumerate(row for row in flow.layers if row.weight is not None):
        both = torch.cat([g.flatten() for g in weights[2 * i : 2 * i + 2]])
        assert row.gradient == pytest.approx(both.norm().item(), rel=1e-12)


def linear_stack(weight: Tensor, depth: int) -> nn.Sequential:
    layers = [nn.Linear(*weight.shape, bias=False) for _ in range(depth)]
    for layer in layers:
        layer.weight.data.copy_(weight)
    return nn.Sequential(*layers)


@pytest.mark.parametrize("depth", [2, 50])
def test_orthogonal_layers_keep_every_norm(float64, depth: int):
    model = linear_stack(nn.init.orthogonal_(torch.empty(8, 8)), depth)
    with cut.flow(model) as flow:
        model(torch.randn(5, 8)).square().sum().backward()
    for name in ("activation", "delta"):
        norms = [getattr(row, name) for row in flow.layers]
        assert norms == pytest.approx([norms[0]] * depth, rel=1e-12)


@pytest.mark.parametrize("a", [0.5, 3.0])
def test_a_multiple_of_the_identity_scales_by_its_power(float64, a: float):
    """W = a I: h_ℓ = a^ℓ x and δ_ℓ = a^(L−ℓ) δ_L."""
    x, depth = torch.randn(4, 6), 20
    model = linear_stack(a * torch.eye(6), depth)
    with cut.flow(model) as flow:
        model(x).sum().backward()
    assert [r.activation for r in flow.layers] == pytest.approx([a ** (i + 1) * rms(x) for i in range(depth)])
    assert [r.delta for r in flow.layers] == pytest.approx([a ** (depth - 1 - i) for i in range(depth)], rel=1e-12)
    word = "exploding" if a > 1 else "vanishing"
    assert [v.rsplit(" ", 1)[1] for v in flow.verdict] == [f"{word}."] * 2


def test_a_delta_that_float32_cannot_square_is_measured():
    model = linear_stack(0.1 * torch.eye(3), 30)
    with cut.flow(model) as flow:
        model(torch.ones(2, 3)).sum().backward()
    assert flow["0"].delta == pytest.approx(1e-29, rel=1e-4)  # its square, 1e-58, is 0 in float32


def test_dead_units_are_named_over_all_passes():
    model = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
    with torch.no_grad():
        model[0].bias.copy_(torch.tensor([0.0, -1e9, 0.0, -1e9, 1e9, -1e9]))
    with cut.flow(model) as flow:
        for _ in range(3):
            model(torch.randn(9, 3)).sum().backward()
    assert flow["1"].dead_units == (1, 3, 5)
    with cut.flow(model) as flow:  # unit 0 lives in the second pass alone
        for x in (-1.0, 1.0):
            model[0].weight.data[0] = torch.tensor([1.0, 0.0, 0.0])
            model[0].weight.data[2] = torch.tensor([-1.0, 0.0, 0.0])
            model(torch.tensor([[x, 0.0, 0.0]])).sum().backward()
    assert flow["1"].dead_units == (1, 3, 5)


@pytest.mark.parametrize(("kind", "edge"), [(nn.Tanh, 3.0), (nn.Sigmoid, 5.0), (nn.Softsign, 9.0)])
@pytest.mark.parametrize("chosen", [None, 2.0])
def test_saturated_from_the_bar_on(kind: type[nn.Module], edge: float, chosen: float | None):
    """N3 §3.6: a logistic unit is saturated where |v| ≥ 5, tanh where |v| ≥ 3; the page says which bar it was."""
    edge = chosen or edge
    model = nn.Sequential(nn.Linear(3, 3, bias=False), kind())
    model[0].weight.data.copy_(torch.eye(3))
    x = torch.tensor([[edge, edge - 1e-3, 0.0], [-edge - 1e-3, -edge - 1e-3, 0.0]])
    with cut.flow(model, saturated_at=chosen) as flow:
        model(x).sum().backward()
    assert flow["1"].saturated == pytest.approx(3 / 6)
    assert flow["1"].saturated_units == (0,)
    assert flow["1"].dead is None
    assert flow["1"].saturated_at == flow.to_dict()["layers"][1]["saturated_at"] == edge
    rule = f"saturated: |v| ≥ {edge:g} in {kind.__name__}"
    assert flow.table().endswith(rule)
    assert rule.capitalize() in flow.picture().note
    assert flow.verdict[-1] == f"1 of 3 units of 1 is saturated (|v| ≥ {edge:g}) for every example: 0."


def test_bars_by_activation():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Sigmoid())
    with cut.flow(model, saturated_at={"tanh": 2}) as flow:
        model(torch.randn(5, 3)).sum().backward()
    assert (flow["1"].saturated_at, flow["3"].saturated_at) == (2, 5)
    with pytest.raises(ValueError, match=r"saturated_at names activations with limits, sigmoid, .* got 'relu'"):
        cut.flow(model, saturated_at={"relu": 2})
    for wrong in (0, -1.0, math.nan, math.inf, True):
        with pytest.raises(ValueError, match=f"saturated_at must be above 0.* got {wrong}"):
            cut.flow(model, saturated_at=wrong)


def test_several_passes_are_taken_together(float64):
    model, xs = chain(), [torch.randn(4, 3), torch.randn(7, 3)]
    with cut.flow(model) as flow:
        for x in xs:
            model(x).sum().backward()
    both = torch.cat(xs)
    assert flow["0"].activation == pytest.approx(rms(model[0](both)))
    assert flow["2"].delta == pytest.approx(1.0)
    total = torch.autograd.grad(model(both).sum(), [model[0].weight, model[0].bias])
    assert flow["0"].gradient == pytest.approx(torch.cat([g.flatten() for g in total]).norm().item())


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], batch_first: bool = True) -> None:
        super().__init__()
        self.cells = kind(3, 5, batch_first=batch_first)
        self.head = nn.Linear(5, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.cells(x)[0]
        return self.head(y[:, -1] if self.cells.batch_first else y[-1])


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("batch_first", [True, False])
def test_recurrent_layers_by_time_step(float64, kind: type[nn.RNNBase], batch_first: bool):
    model = Recurrent(kind, batch_first)
    x = torch.randn(4, 7, 3) if batch_first else torch.randn(7, 4, 3)
    with cut.flow(model, time=1 if batch_first else 0) as flow:
        model(x).sum().backward()
    own = x.clone().requires_grad_()
    (delta,) = torch.autograd.grad(model(own).sum(), own)
    steps = range(7)
    at = (lambda v, t: v[:, t]) if batch_first else (lambda v, t: v[t])
    times = flow.times("cells.input")
    assert times.delta == pytest.approx([rms(at(delta, t)) for t in steps])
    assert times.activation == pytest.approx([rms(at(x, t)) for t in steps])
    outputs = flow.times("cells")
    assert outputs.activation == pytest.approx([rms(at(model.cells(x)[0], t)) for t in steps])
    assert outputs.delta is not None
    assert outputs.delta[:-1] == [0.0] * 6  # the result takes the last step alone
    assert outputs.delta[-1] > 0
    assert flow.timed == ["cells.input", "cells"]
    assert flow["cells"].weight == pytest.approx(
        math.sqrt(sum(w.square().sum().item() for w in model.cells.parameters()))
    )


def test_a_cell_called_step_by_step_has_its_calls_as_time(float64):
    """h_t = h_{t−1} / 2, so δ halves with each step back."""

    class Halving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(3, 3, bias=False)
            self.cell.weight.data.copy_(torch.eye(3) / 2)

        def forward(self, h: Tensor) -> Tensor:
            for _ in range(12):
                h = self.cell(h)
            return h

    model = Halving()
    with cut.flow(model) as flow:
        for _ in range(2):
            model(torch.ones(2, 3)).sum().backward()
    times = flow.times("cell")
    assert times.activation == pytest.approx([0.5 ** (t + 1) for t in range(12)])
    assert times.delta == pytest.approx([0.5 ** (11 - t) for t in range(12)])
    assert flow.verdict == ["At cell δ shrinks by 2·10^3 from call 11 back to 0: vanishing."]


def test_in_place_activations_are_seen_as_they_were(float64):
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True), nn.Linear(5, 1))
    x = torch.randn(6, 3)
    s = model[0](x)
    h = torch.relu(s)
    deltas = torch.autograd.grad(model[2](h).sum(), [s, h])
    with cut.flow(model) as flow:
        model(x).sum().backward()
    assert (flow["0"].activation, flow["0"].delta) == pytest.approx((rms(s), rms(deltas[0])))
    assert (flow["1"].activation, flow["1"].delta) == pytest.approx((rms(h), rms(deltas[1])))


def test_a_transformers_model():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=17, n_positions=8, n_embd=8, n_layer=2, n_head=2)).eval()
    tokens = torch.randint(17, (2, 8))
    with cut.flow(model) as flow:
        model(tokens, labels=tokens).loss.backward()
    seen = {row.address: row for row in flow.layers}
    assert {"transformer.wte", "transformer.h.1.attn.c_attn", "transformer.h.0.mlp.act", "lm_head"} <= set(seen)
    assert all(row.delta is not None and row.delta > 0 for row in flow.layers)
    assert seen["transformer.h.0.mlp.c_fc"].gradient == pytest.approx(
        math.hypot(*(p.grad.norm().item() for p in model.transformer.h[0].mlp.c_fc.parameters())), rel=1e-5
    )
    assert len(flow.times("transformer.h.1.ln_1").activation) == 8


def test_our_blocks_show_their_activations_and_stay_the_same_to_the_bit():
    model = cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=6)
    tokens = torch.randint(11, (3, 6))

    def gradients() -> list[Tensor]:
        model.zero_grad()
        model(tokens).square().mean().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    before = gradients()
    with cut.flow(model) as flow:
        after = gradients()
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert flow["blocks.1.mlp.hidden"].kind == "gelu_tanh"
    assert_nothing_left(model)
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


def test_taps_by_address_have_a_delta():
    model = cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=6)
    tokens = torch.randint(11, (3, 6))
    with cut.trace(model, "blocks.*.attention.weights", gradients=True) as seen:
        model(tokens).square().mean().backward()
    with cut.flow(model, "blocks.*.attention.weights") as flow:
        model(tokens).square().mean().backward()
    assert [row.address for row in flow.layers] == [f"blocks.{i}.attention.weights" for i in (0, 1)]
    for row in flow.layers:
        assert row.activation == pytest.approx(rms(seen[row.address]), rel=1e-5)
        assert row.delta == pytest.approx(rms(seen.gradient[row.address]), rel=1e-5)
    with cut.flow(model, ["blocks.*.attention.weights", "norm"], as_is=True) as flow:
        model(tokens).square().mean().backward()
    assert flow["blocks.0.attention.weights"].delta is None  # computed beside the fused kernel
    assert "No gradient comes back to blocks.0.attention.weights, blocks.1.attention.weights." in flow.verdict


def test_a_frozen_model_has_deltas_but_no_gradients_of_weights(float64):
    model, x = chain().requires_grad_(False), torch.randn(4, 3)
    with cut.flow(model) as flow:
        model(x).square().sum().backward()
    values = [model[0](x).requires_grad_()]
    values += [torch.tanh(values[0])]
    values += [model[2](values[1])]
    deltas = torch.autograd.grad(values[-1].square().sum(), values)
    assert [row.delta for row in flow.layers] == pytest.approx([rms(d) for d in deltas])
    assert [row.gradient for row in flow.layers] == [None] * 3
    assert flow.verdict[0] == "No weight of the 2 layers that own some has a gradient: they are frozen."


def test_a_checkpointed_pass_is_counted_once(float64):
    plain = Layers()

    class Checkpointed(Layers):
        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.compute, x, use_reentrant=False)

    model = Checkpointed()
    model.load_state_dict(plain.state_dict())
    x = torch.randn(4, 3, requires_grad=True)
    rows = []
    for net in (plain, model):
        with cut.flow(net) as flow:
            net(x).square().sum().backward()
        rows.append(flow.layers)
    assert rows[0] == rows[1]


def test_only_the_context_that_opened_it_is_seen():
    model, x = chain(), torch.randn(4, 3)

    def elsewhere() -> None:
        model(100 * x).sum().backward()

    with cut.flow(model) as flow:
        model(x).sum().backward()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert flow["0"].activation == pytest.approx(rms(model[0](x)), rel=1e-5)
    fresh = torch.autograd.grad(model(x).sum(), [model[0].weight, model[0].bias])
    assert flow["0"].gradient == pytest.approx(torch.cat([g.flatten() for g in fresh]).norm().item(), rel=1e-5)


def test_nothing_of_the_pass_is_kept():
    model, made = chain(), []
    model[1].register_forward_hook(lambda module, inputs, output: made.append(weakref.ref(output)))
    with cut.flow(model) as flow:
        y = model(torch.randn(4, 3))
        assert made[0]() is not None
        y.sum().backward()
        del y
        gc.collect()
        assert made[0]() is None
    assert len(flow.layers) == 3


def test_sparse_gradients():
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(7, 3, sparse=True)
            self.out = nn.Linear(3, 2)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.out(self.embed(tokens))

    model = Sparse()
    with cut.flow(model) as flow:
        model(torch.tensor([[1, 1, 2]])).sum().backward()
    assert model.embed.weight.grad is not None
    assert flow["embed"].gradient == pytest.approx(model.embed.weight.grad.to_dense().norm().item())


def test_text_and_dictionary():
    model = by_hand()
    with cut.flow(model) as flow:
        assert repr(flow) == "no flow yet: run the model and backward() inside the `with` block"
        model(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert str(flow).splitlines() == [
        "layer  kind    activation  delta  gradient  weight  ratio  dead",
        "0      Linear        2.74   1.41      14.4    1.41   10.2",
        "1      ReLU          1.58   2.55                            50%",
        "2      Linear        4.47      1         4    3.61   1.11",
        "",
        "1 of 2 units of 1 is dead: 1.",
    ]
    told = json.loads(json.dumps(flow.to_dict(), allow_nan=False))
    assert told["layers"][1]["dead_units"] == [1]
    assert told["layers"][1]["dead"] == 0.5
    assert told["verdict"] == ["1 of 2 units of 1 is dead: 1."]
    assert told["times"] == {}


def test_numbers_that_are_not_finite_are_said_and_not_written():
    model = chain()
    model[0].weight.data[0, 0] = math.inf
    with cut.flow(model) as flow:
        model(torch.ones(2, 3)).sum().backward()
    assert flow.verdict[0] == "The values of 0 are the first that are not finite."
    json.dumps(flow.to_dict(), allow_nan=False)


def test_a_model_that_is_one_layer():
    model = nn.Linear(3, 2)
    with cut.flow(model) as flow:
        model(torch.ones(1, 3)).sum().backward()
    assert flow.table().splitlines()[1].startswith("the Linear")


# Mistakes


def test_no_backward_pass():
    model = chain()
    match = "a flow needs a backward pass inside the `with` block, got none through any of 3 layers; call backward()"
    with pytest.raises(LookError, match=match), cut.flow(model):
        model(torch.randn(2, 3))
    assert_nothing_left(model)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_switched_off(mode):
    model = chain()
    match = r"got none through any of 3 layers; the pass ran under torch.no_grad\(\) or inference_mode\(\): run"
    with pytest.raises(LookError, match=match), cut.flow(model), mode():
        model(torch.randn(2, 3))


def test_a_reentrant_checkpoint():
    class Checkpointed(Layers):
        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.compute, x, use_reentrant=True)

    model = Checkpointed()
    match = "the pass ran inside CheckpointFunction, a torch.autograd.Function: pass use_reentrant=False"
    with pytest.raises(LookError, match=match), cut.flow(model):
        model(torch.randn(2, 3, requires_grad=True)).sum().backward()


def test_no_pass_at_all():
    model = chain()
    match = r"must be reached by a pass inside the `with` block, got none through '\*\*'; run the model inside"
    with pytest.raises(LookError, match=match), cut.flow(model):
        pass
    thread = threading.Thread(target=lambda: model(torch.randn(2, 3)).sum().backward())
    match = (
        "got none through '1' but in another thread, task or backward pass; run the model where the block was opened"
    )
    with pytest.raises(LookError, match=match), cut.flow(model, "1"):
        thread.start()
        thread.join()


def test_unknown_addresses_list_the_nearest():
    model = Recurrent(nn.LSTM)
    with pytest.raises(UnknownAddress, match="got 'cell'; the nearest known are: cells"):
        cut.flow(model, "cell")
    with cut.flow(model) as flow:
        model(torch.randn(2, 4, 3)).sum().backward()
    with pytest.raises(UnknownAddress, match=r"an address must be a layer that the flow saw, got 'hed'; .*: head"):
        flow["hed"]
    with pytest.raises(LookError, match=r"got neither at 'head'; flow\.timed lists those that have"):
        flow.times("head")


def test_what_is_no_model_has_no_layers_or_comes_twice():
    with pytest.raises(
        ValueError, match="needs layers that own weights or apply an activation, got a Identity without"
    ):
        cut.flow(nn.Identity())
    with pytest.raises(ValueError, match="time must be 0 or 1, the axis of time steps, got 2; try time=1"):
        cut.flow(chain(), time=2)
    model = chain()
    session = cut.flow(model)
    with session:
        model(torch.randn(2, 3)).sum().backward()
    with pytest.raises(LookError, match="a flow can be entered once, got a second time; make a new one"):
        session.open()


@pytest.mark.untyped
def test_what_is_no_module():
    with pytest.raises(ValueError, match=r"a model must be a torch.nn.Module, got function; pass the module itself"):
        cut.flow(lambda x: x)


def test_transforms_are_refused():
    model = chain()
    match = r"a flow measures plain tensors, got one inside a torch.func transform \(vmap, grad, jvp\); call the model"
    for as_is in (False, True):
        with pytest.raises(LookError, match=match), cut.flow(model, as_is=as_is):
            torch.func.vmap(model)(torch.randn(2, 4, 3))
    assert_nothing_left(model)


@pytest.mark.untyped
def test_a_compiled_model_runs_eagerly_while_it_is_looked_at():
    model = chain()
    model.compile(backend="aot_eager")
    x = torch.randn(4, 3)
    model(x)
    with cut.flow(model) as flow:
        model(x).sum().backward()
    assert [row.address for row in flow.layers] == ["0", "1", "2"]
    assert flow["0"].activation == pytest.approx(rms(model[0](x)), rel=1e-5)


class Start(nn.Module):
    """Adds a learned start; the module inside returns the parameter itself."""

    class Given(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

        def forward(self) -> Tensor:
            return self.start

    def __init__(self) -> None:
        super().__init__()
        self.given = self.Given()

    def forward(self, x: Tensor) -> Tensor:
        return self.given() * x + 7 * self.given.start


@pytest.mark.parametrize("as_is", [False, True])
def test_a_returned_parameter_keeps_no_hook(as_is: bool):
    model, x = Start(), torch.tensor([1.0, 10.0, 100.0])
    with cut.flow(model, "given", as_is=as_is) as flow:
        model(x).sum().backward()
    assert flow["given"].delta == pytest.approx(rms(x))  # through the module alone
    assert not model.given.start._backward_hooks
    model(100 * x).sum().backward()
    assert flow["given"].delta == pytest.approx(rms(x))


def test_a_backward_pass_after_the_block_is_not_counted():
    model, x = chain(), torch.randn(7, 3)
    with cut.flow(model) as flow:
        y = model(x)
        y.sum().backward(retain_graph=True)
    before = flow.to_dict()
    (1000 * y.sum()).backward()
    assert flow.to_dict() == before


def test_lazy_layers_are_measured_at_their_first_pass():
    model, x = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2)), torch.randn(7, 3)
    with cut.flow(model) as flow:
        model(x).square().sum().backward()
    weights = torch.cat([p.detach().flatten() for p in model[0].parameters()])
    gradients = torch.cat([p.grad.flatten() for p in model[0].parameters()])
    assert flow["0"].weight == pytest.approx(weights.norm().item())
    assert flow["0"].gradient == pytest.approx(gradients.norm().item())
    assert_nothing_left(model)


def test_complex_layers_count_by_magnitude():
    model, x = nn.Sequential(nn.Linear(3, 2, dtype=torch.complex64)), torch.randn(5, 3, dtype=torch.complex64)
    with cut.flow(model) as flow:
        y = model(x)
        y.abs().square().sum().backward()
    assert flow["0"].activation == pytest.approx(rms(y.abs().detach()), rel=1e-5)
    assert flow["0"].delta == pytest.approx(rms(2 * y.abs().detach()), rel=1e-5)
    assert flow["0"].weight == pytest.approx(math.sqrt(sum(p.abs().square().sum().item() for p in model.parameters())))


def test_opening_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch):
    model = chain()
    monkeypatch.setattr("cutaway.look.flows.Tally.take_weights", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError), cut.flow(model):
        pass
    assert_nothing_left(model)
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_module_is_one_layer():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 5), nn.Tanh()))
    model = nn.Sequential(nn.Linear(3, 3), scripted, nn.Linear(5, 2))
    with cut.flow(model) as flow:
        model(torch.randn(4, 3)).sum().backward()
    assert [(layer.address, layer.kind) for layer in flow.layers] == [
        ("0", "Linear"),
        ("1", "Sequential"),
        ("2", "Linear"),
    ]
    assert flow["1"].weight == pytest.approx(math.sqrt(sum(p.square().sum().item() for p in scripted.parameters())))


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided], ids=str)
def test_the_parts_of_nested_tensors_are_one_batch(layout: torch.layout):
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    with cut.flow(model) as flow:
        y = model(torch.nested.nested_tensor(parts, layout=layout))
        sum(part.square().sum() for part in y.unbind()).backward()
    with cut.flow(model) as plain:
        model(torch.cat(parts)).square().sum().backward()
    for one, other in zip(flow.layers, plain.layers):
        assert (one.activation, one.delta, one.dead_units) == (
            *(pytest.approx(other.activation), pytest.approx(other.delta)),
            other.dead_units,
        )


def test_other_arguments_are_layers_too():
    model = nn.ModuleDict({"mix": nn.Bilinear(3, 3, 2)})
    model.forward = lambda x: model["mix"](x, 2 * x)
    x = torch.randn(4, 3)
    with cut.flow(model, ["mix.input", "mix.input.input2"]) as flow:
        model(x).sum().backward()
    assert flow["mix.input.input2"].activation == pytest.approx(2 * flow["mix.input"].activation)
    assert flow["mix.input.input2"].kind == "input of Bilinear"
