"""Initialisers against torch.nn.init on the transpose, and by their laws."""

import math

import pytest
import torch
from torch import nn

from cutaway.blocks import (
    Dense,
    LayerNorm,
    Linear,
    WeightNormLinear,
    fan_in_,
    fan_out_,
    initialise,
    kaiming_normal_,
    normal_,
    orthogonal_,
    small_residual_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)
from cutaway.blocks.embeddings.tokens import Embedding


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (normal_, lambda w, generator: nn.init.normal_(w, std=0.02, generator=generator)),
        (fan_in_, lambda w, generator: nn.init.kaiming_normal_(w, nonlinearity="linear", generator=generator)),
        (
            fan_out_,
            lambda w, generator: nn.init.kaiming_normal_(w, 0, "fan_out", nonlinearity="linear", generator=generator),
        ),
        (xavier_normal_, nn.init.xavier_normal_),
        (xavier_uniform_, nn.init.xavier_uniform_),
        (kaiming_normal_, lambda w, generator: nn.init.kaiming_normal_(w, nonlinearity="relu", generator=generator)),
    ],
    ids=["normal", "fan_in", "fan_out", "xavier_normal", "xavier_uniform", "kaiming_normal"],
)
@pytest.mark.parametrize("shape", [(5, 11), (11, 5)])
def test_same_as_torch_on_the_transpose(ours, theirs, shape, float64):
    weight, transposed = torch.empty(shape), torch.empty(shape[::-1])
    assert ours(weight, generator=generator()) is weight
    theirs(transposed, generator=generator())
    # both fill their memory with one stream of draws, so the same scale means the same numbers
    torch.testing.assert_close(weight.flatten(), transposed.flatten())


@pytest.mark.parametrize("ours", [fan_in_, fan_out_, xavier_normal_, xavier_uniform_, orthogonal_])
def test_gain_is_a_factor(ours, float64):
    plain, scaled = torch.empty(5, 11), torch.empty(5, 11)
    ours(plain, generator=generator())
    ours(scaled, gain=3.0, generator=generator())
    torch.testing.assert_close(scaled, 3 * plain)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (xavier_normal_, nn.init.xavier_normal_),
        (kaiming_normal_, lambda w, generator: nn.init.kaiming_normal_(w, nonlinearity="relu", generator=generator)),
    ],
)
def test_kernels_are_torchs(ours, theirs, float64):
    a, b = torch.empty(7, 3, 5, 2), torch.empty(7, 3, 5, 2)
    torch.testing.assert_close(ours(a, generator=generator()), theirs(b, generator=generator()))


def test_standard_deviations():
    """For 400 inputs and 100 outputs, D = 250."""
    W = torch.empty(400, 100)
    for draw, variance in [
        (fan_in_, 1 / 400),
        (fan_out_, 1 / 100),
        (xavier_normal_, 1 / 250),
        (xavier_uniform_, 1 / 250),
        (kaiming_normal_, 2 / 400),
        (normal_, 0.02**2),
        (lambda w: small_residual_(w, depth=8), 0.02**2 / 16),
    ]:
        assert draw(W).std().item() == pytest.approx(math.sqrt(variance), rel=0.02)
        assert W.mean().item() == pytest.approx(0, abs=6 * math.sqrt(variance / W.numel()))
    assert xavier_uniform_(W).abs().max().item() <= math.sqrt(3 / 250)
    assert not zeros_(W).any()


@pytest.mark.parametrize("shape", [(5, 11), (11, 5), (7, 7)])
def test_orthogonal_keeps_lengths(shape, float64):
    W = orthogonal_(torch.empty(shape))
    gram = W.T @ W if shape[0] >= shape[1] else W @ W.T
    torch.testing.assert_close(gram, torch.eye(min(shape)))
    if shape[0] <= shape[1]:
        x = torch.randn(3, shape[0])
        torch.testing.assert_close((x @ W).norm(dim=-1), x.norm(dim=-1))


def test_orthogonal_prefers_no_direction(float64):
    """Without the correction of signs the first diagonal entry of the QR of a 2 × 2 draw has one sign only."""
    corners = torch.stack([orthogonal_(torch.empty(2, 2))[0, 0] for _ in range(200)])
    # each sign 100 of 200 times, with standard deviation √50 ≈ 7: five of them either way
    assert 65 <= (corners > 0).sum() <= 135


def test_orthogonal_kernels_have_orthonormal_outputs(float64):
    W = orthogonal_(torch.empty(7, 3, 5)).flatten(1)
    torch.testing.assert_close(W @ W.T, torch.eye(7))


def test_half_precision_and_gradients():
    parameter = nn.Parameter(torch.empty(5, 11, dtype=torch.bfloat16))
    for draw in (zeros_, normal_, fan_in_, kaiming_normal_, orthogonal_):
        assert draw(parameter) is parameter
        assert parameter.dtype == torch.bfloat16
        assert parameter.requires_grad
        assert parameter.is_leaf


def test_small_residual_keeps_the_variance_of_a_stream_of_branches(float64):
    """2L branches, each with a last projection of variance s²/(2L), add the variance that one with s² would."""
    depth, width = 12, 300
    x = torch.randn(width)
    projections = [small_residual_(torch.empty(width, width), depth, std=0.05) for _ in range(2 * depth)]
    total = sum(x @ W for W in projections)
    one = x @ normal_(torch.empty(width, width), std=0.05)
    assert (total.std() / one.std()).item() == pytest.approx(1, abs=0.2)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = Embedding(13, 3)
        self.first = Dense(3, 5)
        self.norm = LayerNorm(5)
        self.second = nn.Linear(5, 7)
        self.kernel = nn.Conv1d(7, 2, 3)


def test_initialise_draws_weights_alone():
    model = Model()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    names = initialise(model, "orthogonal")
    assert names == ["first.linear.weight", "second.weight", "kernel.weight"]
    changed = [name for name, p in model.named_parameters() if not torch.equal(p, before[name])]
    assert changed == names


def test_initialise_knows_torchs_layout():
    wide = nn.Linear(1000, 10)  # stored as (outputs, inputs) = (10, 1000)
    initialise(wide, "fan_in")
    assert wide.weight.std().item() == pytest.approx(1000**-0.5, rel=0.05)
    ours = Linear(1000, 10)
    initialise(ours, "fan_in")
    assert ours.weight.std().item() == pytest.approx(1000**-0.5, rel=0.05)


def test_shared_weights_and_tables():
    embed, first, second, head = Embedding(13, 3), nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 13, bias=False)
    second.weight = first.weight
    head.weight = embed.weight
    table = embed.weight.detach().clone()
    assert initialise(nn.Sequential(embed, first, second, head), "zeros") == ["1.weight"]
    assert torch.equal(head.weight, table)


def test_weight_norm_is_drawn_whole():
    layer = WeightNormLinear(1000, 100)
    initialise(layer, "fan_out")
    assert layer.weight.std().item() == pytest.approx(0.1, rel=0.02)


def test_initialise_by_pattern_and_with_your_own():
    model = Model()
    assert initialise(model, lambda w: w.fill_(2.0), pattern="*.linear.*") == ["first.linear.weight"]
    assert (model.first.linear.weight == 2).all()
    assert not (model.second.weight == 2).any()


def test_on_the_meta_device():
    with torch.device("meta"):
        model = Model()
        for name in ["zeros", "normal", "fan_in", "fan_out", "xavier_uniform", "kaiming_normal", "orthogonal"]:
            assert len(initialise(model, name)) == 3


def test_messages():
    with pytest.raises(ValueError, match=r"initialiser must be one of zeros, normal, fan_in, .* got 'glorot'"):
        initialise(Model(), "glorot")
    message = (
        r"must match the name of a weight matrix, got 'third\*'; there are: first.linear.weight, second.weight, kernel"
    )
    with pytest.raises(ValueError, match=message):
        initialise(Model(), "zeros", pattern="third*")
    with pytest.raises(ValueError, match=r"got '\*'; there are: none"):
        initialise(nn.ReLU(), "zeros")
    with pytest.raises(
        ValueError, match=r"fans need a weight of shape \(inputs, outputs\), got shape \(3,\); use zeros_"
    ):
        xavier_normal_(torch.empty(3))
    with pytest.raises(ValueError, match="depth must be above 0, got 0"):
        small_residual_(torch.empty(3, 5), depth=0)
