"""Every parameter in exactly one group, with the decay and the optimizer that suit it."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import cutaway.training
from cutaway.blocks import MLP, AttentionPool, BatchNorm, Dense, GatedMLP, Head, LayerNorm, Linear, SoftmaxLayer, Task
from cutaway.models import BERT, GPT
from cutaway.training import Muon, build_optimizers, descend, hidden_matrices, momentum_step, set_rate
from cutaway.training.optimizers.groups import NAMES

SIZES = {"vocabulary": 11, "width": 12, "depth": 2, "heads": 3, "context": 5}
MODELS = {
    "gpt2": lambda: GPT(**SIZES),
    "llama": lambda: GPT.llama(kv_heads=1, **SIZES),
    "dense": lambda: nn.Sequential(Dense(3, 5), BatchNorm(5), Dense(5, 2, None)),
    "torch": lambda: nn.Sequential(
        nn.Linear(3, 5), nn.ReLU(), nn.LayerNorm((2, 5)), nn.Conv1d(2, 3, 1), nn.Linear(5, 2)
    ),
}


def names_of(model, parameters):
    known = {id(p): name for name, p in model.named_parameters()}
    return [known[id(p)] for p in parameters]


def groups_of(optimizers):
    return [group for optimizer in optimizers for group in optimizer.param_groups]


def hidden_names(model):
    """The names of the matrices for Muon, by axis and parts."""
    return {(g["axis"], g["parts"]): names_of(model, g["params"]) for g in hidden_matrices(model)}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_in_one_group_and_moves(name, make):
    model = make()
    optimizers = build_optimizers(model, name, rate=0.1, weight_decay=0.01)
    held = [p for group in groups_of(optimizers) for p in group["params"]]
    assert sorted(map(id, held)) == sorted(map(id, model.parameters()))
    before = [p.detach().clone() for p in model.parameters()]
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    for optimizer in optimizers:
        optimizer.step()
    for (at, p), old in zip(model.named_parameters(), before, strict=True):
        assert not torch.equal(p, old), at


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_decay_is_for_matrices(name, make):
    model = make()
    for group in groups_of(build_optimizers(model, name, rate=0.1, weight_decay=0.01)):
        for at, p in zip(names_of(model, group["params"]), group["params"], strict=True):
            norm = isinstance(model.get_submodule(at.rpartition(".")[0]), nn.LayerNorm)
            assert group["weight_decay"] == (0.01 if p.ndim > 1 and not norm else 0.0), at


def test_tokens_and_norms_of_several_axes_are_vectors_too():
    """A vision transformer's class token has shape (1, 1, width); a map from one input is a matrix all the same."""
    model = nn.Sequential(LayerNorm((3, 5)), nn.Conv2d(1, 1, 2), Linear(1, 5), nn.RMSNorm((3, 5)))
    model.cls = nn.Parameter(torch.zeros(1, 1, 5))
    (decayed, free) = groups_of(build_optimizers(model, "adamw", rate=0.1, weight_decay=0.5))
    assert names_of(model, decayed["params"]) == ["1.weight", "2.weight"]
    assert names_of(model, free["params"]) == ["cls", "0.weight", "0.bias", "1.bias", "2.bias", "3.weight"]


@pytest.mark.parametrize(
    ("name", "kind", "how"),
    [
        ("adamw", torch.optim.AdamW, {"betas": (0.8, 0.9), "fused": True}),
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.9), "fused": True, "amsgrad": False}),
        ("amsgrad", torch.optim.Adam, {"betas": (0.8, 0.9), "fused": True, "amsgrad": True}),
        ("nadam", torch.optim.NAdam, {"betas": (0.8, 0.9)}),
        ("sgd", torch.optim.SGD, {"momentum": 0.0, "nesterov": False}),
        ("momentum", torch.optim.SGD, {"momentum": 0.7, "nesterov": False}),
        ("nesterov", torch.optim.SGD, {"momentum": 0.7, "nesterov": True}),
        ("adagrad", torch.optim.Adagrad, {}),
        ("rmsprop", torch.optim.RMSprop, {}),
        ("adadelta", torch.optim.Adadelta, {}),
    ],
)
def test_the_optimizer_of_each_name(name, kind, how):
    (optimizer,) = build_optimizers(Linear(3, 2), name, rate=0.1, betas=(0.8, 0.9), momentum=0.7)
    assert type(optimizer) is kind
    for group in optimizer.param_groups:
        assert {key: group[key] for key in how} == how
        assert group["lr"] == group["full_lr"] == 0.1


def test_muon_and_adamw_have_rates_of_their_own():
    adamw, muon = build_optimizers(GPT(**SIZES), "muon", 0.003, 0.1, (0.9, 0.99), muon_rate=0.05, momentum=0.9)
    assert type(adamw) is torch.optim.AdamW
    assert type(muon) is Muon
    assert {group["lr"] for group in adamw.param_groups} == {0.003}
    assert {(group["lr"], group["momentum"], group["weight_decay"]) for group in muon.param_groups} == {
        (0.05, 0.9, 0.1)
    }


# What Muon takes ----------------------------------------------------------------------------------------------------


def test_hidden_matrices_of_gpt():
    """Attention and MLP: not embeddings, positions, norms or biases."""
    blocks = [f"blocks.{i}" for i in range(2)]
    model = GPT(**SIZES)
    assert hidden_names(model) == {
        (-1, (12, 12, 12)): [f"{b}.attention.qkv.weight" for b in blocks],
        (-1, 1): [f"{b}.{at}.weight" for b in blocks for at in ("attention.out", "mlp.up", "mlp.down")],
    }


def test_hidden_matrices_with_grouped_queries_and_gates():
    """Queries are larger than keys and values; W_g and W_u are two matrices; the output layer is left to AdamW."""
    blocks = [f"blocks.{i}" for i in range(2)]
    model = GPT.llama(kv_heads=1, **SIZES)
    assert model.unembed is not None
    assert hidden_names(model) == {
        (-1, (12, 4, 4)): [f"{b}.attention.qkv.weight" for b in blocks],
        (-1, 2): [f"{b}.mlp.up.weight" for b in blocks],
        (-1, 1): [f"{b}.{at}.weight" for b in blocks for at in ("attention.out", "mlp.down")],
    }
    build_optimizers(model, "muon", rate=0.1)  # and Muon takes them


def test_hidden_matrices_of_bert():
    model = BERT(**SIZES)
    found = {name for names in hidden_names(model).values() for name in names}
    maps = ("attention.qkv", "attention.out", "mlp.up", "mlp.down")
    assert {name for name in found if name.startswith("blocks")} == {
        f"blocks.{i}.{m}.weight" for i in (0, 1) for m in maps
    }
    assert {name.split(".")[0] for name in found} <= {"blocks", "pooler", "head"}


class Custom(nn.Module):
    """As people write them: torch's layers, an output layer that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(11, 4)
        self.attention = nn.MultiheadAttention(4, 2)
        self.first = nn.Linear(4, 6)
        self.again = nn.Linear(4, 6)
        self.again.weight = self.first.weight
        self.gate = nn.Linear(4, 1)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 6))
        self.lm_logits = nn.Linear(4, 11, bias=False)
        self.lm_logits.weight = self.token.weight
        self.norm = nn.LayerNorm(4)


def test_hidden_matrices_of_torch_layers():
    """Rows are outputs there; a shared weight is held once, one that is computed not at all, a vector neither."""
    model = Custom()
    assert hidden_names(model) == {
        (0, 3): ["attention.in_proj_weight"],
        (0, 1): ["attention.out_proj.weight", "first.weight"],
    }
    held = [p for group in groups_of(build_optimizers(model, "muon", rate=0.1)) for p in group["params"]]
    assert sorted(map(id, held)) == sorted(map(id, model.parameters()))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)), ["0", "2"]),
        (nn.Sequential(Dense(3, 5), Dense(5, 4), nn.Sequential(nn.Dropout(), Linear(4, 2))), ["0.linear", "1.linear"]),
        (nn.Sequential(Dense(3, 5), Dense(5, 2, None)), ["0.linear"]),
        (nn.Sequential(Dense(3, 5), SoftmaxLayer(5, 2)), ["0.linear"]),
        (nn.Sequential(Dense(3, 5), Head(5, Task("multi-class", 4)), nn.LayerNorm(4)), ["0.linear"]),
        (nn.Sequential(MLP(4), GatedMLP(4), nn.LayerNorm(4)), ["0.up", "0.down", "1.up", "1.down"]),
        (nn.Sequential(Dense(3, 5), AttentionPool(5), nn.LayerNorm(5)), ["0.linear"]),
        (nn.ModuleDict({"first": Linear(3, 5), "classify": Linear(5, 2), "norm": nn.LayerNorm(2)}), ["first"]),
        (Linear(3, 2), []),
        (nn.Conv2d(3, 2, 5), []),
    ],
)
def test_output_layers_are_left_out(model, found):
    assert sorted(name for names in hidden_names(model).values() for name in names) == [
        f"{at}.weight" for at in sorted(found)
    ]


def test_frozen_parameters_are_left_out():
    model = GPT(**SIZES)
    model.requires_grad_(False)
    with pytest.raises(
        ValueError, match="training needs parameters that may change, got none; unfreeze some of the model"
    ):
        build_optimizers(model, "adamw", rate=0.1)
    model.blocks[1].mlp.requires_grad_(True)
    for name in NAMES:
        held = [p for group in groups_of(build_optimizers(model, name, rate=0.1)) for p in group["params"]]
        assert sorted(names_of(model, held)) == sorted(
            f"blocks.1.mlp.{at}" for at, _ in model.blocks[1].mlp.named_parameters()
        )
    model.blocks[1].mlp.up.bias.requires_grad_(False)
    model.blocks[1].mlp.down.bias.requires_grad_(False)
    (muon,) = build_optimizers(model, "muon", rate=0.1)  # nothing is left for AdamW
    assert type(muon) is Muon


def test_muon_trains_a_small_network_better_than_plain_descent(float64):
    """Not a benchmark: a sign that the parts fit. A narrow teacher, the same start, 60 steps."""
    x, teacher = torch.randn(64, 6), nn.Sequential(Linear(6, 6), nn.Tanh(), Linear(6, 1))
    y = teacher(x).detach()
    start = nn.Sequential(Linear(6, 16), nn.Tanh(), Linear(16, 16), nn.Tanh(), Linear(16, 1)).state_dict()
    costs = {}
    for name in ("sgd", "muon"):
        model = nn.Sequential(Linear(6, 16), nn.Tanh(), Linear(16, 16), nn.Tanh(), Linear(16, 1))
        model.load_state_dict(start)
        optimizers = build_optimizers(model, name, rate=0.01, muon_rate=0.05)
        for t in range(60):
            cost = (model(x) - y).square().mean()
            cost.backward()
            set_rate(optimizers, 1 - t / 60)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        costs[name] = cost.item()
    assert costs["muon"] < 0.5 * costs["sgd"]


# Rates --------------------------------------------------------------------------------------------------------------


def test_rates_are_shares_of_the_full_ones():
    optimizers = build_optimizers(GPT(**SIZES), "muon", rate=0.1, muon_rate=0.02)
    for share in (0.5, 0.0, 0.25):  # never a share of a share
        set_rate(optimizers, share)
        assert [group["lr"] for group in groups_of(optimizers)] == [0.1 * share] * 2 + [0.02 * share] * 2
    set_rate(optimizers, 1.0)
    assert {group["lr"] for group in groups_of(optimizers)} == {0.1, 0.02}


def test_an_optimizer_of_ones_own_keeps_its_rate_as_the_full_one():
    own = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    for share in (0.5, 0.1):
        set_rate([own], share)
        assert own.param_groups[0]["lr"] == pytest.approx(0.3 * share)


def test_full_rates_live_through_the_state():
    model = Linear(3, 2)
    (before,) = build_optimizers(model, "adam", rate=0.1)
    set_rate([before], 0.5)
    (after,) = build_optimizers(model, "adam", rate=0.7)
    after.load_state_dict(before.state_dict())
    set_rate([after], 1.0)
    assert {group["lr"] for group in after.param_groups} == {0.1}


def test_momentum_in_training_is_the_equation(float64):
    model = Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    optimizers = build_optimizers(model, "momentum", rate=0.1, momentum=0.5)
    for _ in range(5):
        optimizers[0].zero_grad()
        (model.weight**2 / 2).sum().backward()
        optimizers[0].step()
    way = descend(lambda w: (w**2).sum() / 2, torch.ones(1, 1), momentum_step, 5, rate=0.1, momentum=0.5)
    torch.testing.assert_close(model.weight.detach(), way[-1])


def test_bad_settings():
    model = Linear(3, 2)
    with pytest.raises(ValueError, match=r"optimizer must be one of muon, adamw, .*, got 'adma'; pick one of these"):
        build_optimizers(model, "adma", rate=0.1)
    with pytest.raises(ValueError, match="rate must be above 0, got 0"):
        build_optimizers(model, "adam", rate=0)
    with pytest.raises(ValueError, match="muon_rate must be above 0, got -1"):
        build_optimizers(model, "muon", rate=0.1, muon_rate=-1)
    with pytest.raises(ValueError, match=r"weight_decay must be 0 or above, got -0.1; try weight_decay=0.1"):
        build_optimizers(model, "adamw", rate=0.1, weight_decay=-0.1)
    with pytest.raises(ValueError, match=r"momentum must be from 0 to below 1, got 1.5; try 0.9"):
        build_optimizers(model, "sgd", rate=0.1, momentum=1.5)
    with pytest.raises(ValueError, match=r"betas\[1\] must be from 0 to below 1, got 1.0; try 0.9"):
        build_optimizers(model, "adam", rate=0.1, betas=(0.9, 1.0))
    build_optimizers(model, "nesterov", rate=0.1, momentum=0.0)  # gradient descent


# The package --------------------------------------------------------------------------------------------------------


def test_training_is_imported_when_used():
    code = "import sys, cutaway.training; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_public_names_are_there():
    for name in cutaway.training.__all__:
        value = getattr(cutaway.training, name)
        assert type(value).__name__ != "module", name
    assert dir(cutaway.training) == sorted(cutaway.training.__all__)
    with pytest.raises(
        AttributeError, match=r"module 'cutaway.training' has no attribute 'Moun'; it has: .*Averaging, .*Muon,"
    ):
        cutaway.training.Moun  # noqa: B018
