"""Rotary positions against Hugging Face's, against complex numbers, and by their laws."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from representative import slow_but
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.gptj import modeling_gptj
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

import cutaway as cut
from cutaway.blocks import (
    DynamicNTKScaling,
    Llama3Scaling,
    Rotary,
    YaRNScaling,
    rotary_angles,
    rotate,
)
from cutaway.blocks.positions.rotary_scalings import Scaling

LAYOUTS = ["half", "interleaved"]


def complex_rotation(x: Tensor, angles: Tensor, layout: str) -> Tensor:
    """The same by other means: pairs are complex numbers, turning is multiplying by e^{iα}."""
    if layout == "half":
        z = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((z.real, z.imag), -1)
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(z).flatten(-2)


def test_by_hand():
    """Width 4, base 100: speeds 1 and 1/10. Position 2 turns (1, 3) by 2 and (2, 4) by 0.2."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    c, s, cc, ss = math.cos(2), math.sin(2), math.cos(0.2), math.sin(0.2)
    half = [c - 3 * s, 2 * cc - 4 * ss, 3 * c + s, 4 * cc + 2 * ss]
    paired = [c - 2 * s, 2 * c + s, 3 * cc - 4 * ss, 4 * cc + 3 * ss]
    angles = rotary_angles(torch.tensor([2]), 4, base=100.0)
    torch.testing.assert_close(rotate(x, angles), torch.tensor([half]))
    torch.testing.assert_close(rotate(x, angles, "interleaved"), torch.tensor([paired]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_as_complex_numbers_with_gradients(layout: str, float64):
    x, angles = torch.randn(2, 3, 5, 8, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    ours, peer = rotate(x, angles, layout), complex_rotation(x, angles, layout)
    torch.testing.assert_close(ours, peer)
    upstream = torch.randn_like(ours)
    for mine, theirs in zip(
        torch.autograd.grad(ours, (x, angles), upstream), torch.autograd.grad(peer, (x, angles), upstream)
    ):
        torch.testing.assert_close(mine, theirs)


def test_same_as_llama():
    config = LlamaConfig(
        hidden_size=48, num_attention_heads=3, rope_parameters={"rope_type": "default", "rope_theta": 500.0}
    )
    q, k = torch.randn(2, 3, 11, 16), torch.randn(2, 1, 11, 16)
    places = torch.arange(4, 15)
    peer = apply_rotary_pos_emb(q, k, *LlamaRotaryEmbedding(config)(q, places[None]))
    for ours, theirs in zip(Rotary(16, base=500.0)(q, k, offset=4), peer):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_interleaved_and_partial_as_in_gptj():
    """GPT-J turns the first entries of each head only, in neighbouring pairs."""
    q = torch.randn(2, 11, 3, 16)  # batch, time, heads, width
    sin, cos = modeling_gptj.create_sinusoidal_positions(11, 6).expand(2, -1, -1).chunk(2, -1)
    peer = torch.cat((modeling_gptj.apply_rotary_pos_emb(q[..., :6], sin, cos), q[..., 6:]), -1).transpose(1, 2)
    ours, _ = Rotary(6, layout="interleaved")(q.transpose(1, 2), q.transpose(1, 2))
    torch.testing.assert_close(ours, peer)


@given(i=st.integers(0, 5000), j=st.integers(0, 5000), shift=st.integers(-5000, 5000), layout=st.sampled_from(LAYOUTS))
@settings(max_examples=30)
def test_scores_depend_on_the_distance_alone(i: int, j: int, shift: int, layout: str):
    q, k = torch.randn(2, 1, 16, dtype=torch.float64)
    rotary = Rotary(12, layout=layout)  # partial: the rest does not turn and does not care

    def score(i: int, j: int) -> Tensor:
        return rotary(q, q, offset=i)[0] @ rotary(k, k, offset=j)[1].T

    torch.testing.assert_close(score(i, j), score(i + shift, j + shift), rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_length_is_kept_and_turning_back_undoes(layout: str, float64):
    x, angles = torch.randn(3, 5, 8), 10 * torch.randn(5, 4)
    y = rotate(x, angles, layout)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(rotate(y, -angles, layout), x)
    torch.testing.assert_close(rotate(y, angles, layout), rotate(x, 2 * angles, layout))


def test_layouts_are_permutations_of_each_other(float64):
    x, angles = torch.randn(3, 5, 8), torch.randn(5, 4)
    order = torch.arange(8).view(2, 4).T.flatten()  # 0 4 1 5 …: from halves to neighbours
    assert torch.equal(rotate(x, angles, "half")[..., order], rotate(x[..., order], angles, "interleaved"))


def test_one_token_at_a_time_is_all_at_once():
    rotary, q, k = Rotary(8), torch.randn(2, 3, 7, 8), torch.randn(2, 1, 7, 8)
    steps = [rotary(q[:, :, t : t + 1], k[:, :, t : t + 1], offset=t) for t in range(7)]
    for whole, parts in zip(rotary(q, k), zip(*steps)):
        assert torch.equal(torch.cat(parts, -2), whole)


def test_positions_per_example():
    rotary, q, k = Rotary(8), torch.randn(2, 3, 4, 8), torch.randn(2, 1, 4, 8)
    places = torch.tensor([[0, 1, 2, 3], [7, 7, 0, 1]])
    for row in range(2):
        expected = rotary(q[row], k[row], positions=places[row])
        for batched, alone in zip(rotary(q, k, positions=places), expected):
            assert torch.equal(batched[row], alone)
    assert torch.equal(rotary(q, k, positions=torch.arange(5, 9))[0], rotary(q, k, offset=5)[0])
    flat = rotary(q[:, 0], k[:, 0], positions=places)[0]  # no heads between batch and time
    assert torch.equal(flat, rotary(q, k, positions=places)[0][:, 0])


def test_amplitude_scales_what_turns():
    x, angles = torch.randn(5, 8), torch.randn(5, 3)
    y = rotate(x, angles, amplitude=2.0)
    torch.testing.assert_close(y[:, :6], 2 * rotate(x, angles)[:, :6])
    assert torch.equal(y[:, 6:], x[:, 6:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(dtype: torch.dtype):
    """Far out, where the positions themselves are no longer half-precision numbers."""
    x = torch.randn(2, 1, 5, 8).to(dtype)
    rotary = Rotary(8).to(dtype)
    ours, _ = rotary(x, x, offset=4001)
    exact = rotate(x.double(), rotary_angles(4001 + torch.arange(5), 8, dtype=torch.float64)).to(dtype)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, exact, rtol=torch.finfo(dtype).eps, atol=1e-3)
    assert rotary_angles(torch.tensor([2049.0], dtype=dtype), 2).dtype == torch.float32


def test_float64_is_not_rounded_to_float32():
    x = torch.randn(1, 8, dtype=torch.float64)
    ours, _ = Rotary(8)(x, x, offset=12345)
    angles = [12345 / 10000 ** (2 * k / 8) for k in range(4)]
    torch.testing.assert_close(ours, complex_rotation(x, torch.tensor([angles], dtype=torch.float64), "half"))


def test_nothing_is_stored():
    with torch.device("meta"):
        rotary = Rotary(8)
    assert not rotary.state_dict()
    assert not list(rotary.buffers())
    q = torch.randn(1, 5, 8)
    assert torch.equal(rotary(q, q)[0], Rotary(8)(q, q)[0])


def test_taps_hold_the_values_of_the_equation():
    rotary, q, k = Rotary(4), torch.randn(2, 5, 3, 8), torch.randn(2, 1, 3, 8)
    with cut.trace(rotary, "angles", "queries", "keys") as seen:
        turned = rotary(q, k, offset=3)
    assert torch.equal(seen["angles"], rotary_angles(torch.arange(3, 6), 4))
    assert torch.equal(seen["queries"], turned[0])
    assert torch.equal(seen["keys"], turned[1])
    with cut.patch(rotary, {"angles": 0.0}):
        for mine, given_ in zip(rotary(q, k), (q, k)):
            assert torch.equal(mine, given_)


def test_bad_sizes():
    with pytest.raises(ValueError, match="width must be even, got 7; try width=8"):
        Rotary(7)
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        rotary_angles(torch.arange(3), 0)
    with pytest.raises(ValueError, match="layout must be one of half, interleaved, got 'pairs'; pick one of these"):
        Rotary(8, layout="pairs")
    with pytest.raises(ValueError, match="layout must be one of half, interleaved, got 'gptj'"):
        rotate(torch.zeros(3, 4), torch.zeros(3, 2), "gptj")
    with pytest.raises(
        ValueError, match=r"x must have shape \(..., time, 6 or more\), got \(3, 5\); rotate with the width"
    ):
        rotate(torch.zeros(3, 5), torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"q must have shape \(..., time, 8 or more\), got \(5, 6\)"):
        Rotary(8)(torch.zeros(5, 6), torch.zeros(5, 6))


def test_bad_positions():
    q, k = torch.zeros(2, 3, 4, 8), torch.zeros(2, 1, 4, 8)
    with pytest.raises(
        ValueError,
        match=r"positions must have shape \(time\) or \(batch, time\) of q, got \(3, 4\) for q of shape "
        r"\(2, 3, 4, 8\); give one position for each vector along the time axis",
    ):
        Rotary(8)(q, k, positions=torch.zeros(3, 4, dtype=torch.long))


@pytest.mark.untyped
def test_bad_input():
    q = torch.zeros(2, 4, 8)
    with pytest.raises(ValueError, match=r"of k, got \(4,\) for k of shape \(2, 5, 8\)"):
        Rotary(8)(q, torch.zeros(2, 5, 8))
    with pytest.raises(ValueError, match=r"of q, got \(1, 1, 4\) for q of shape \(4, 8\)"):
        Rotary(8)(q[0], q[0], positions=torch.zeros(1, 1, 4, dtype=torch.long))
    with pytest.raises(ValueError, match=r"k must be a float tensor, got torch.int64"):
        Rotary(8)(q, q.long())


@pytest.mark.untyped
@pytest.mark.parametrize(
    "scaling",
    slow_but(
        "dynamic",
        {
            "none": None,
            "dynamic": DynamicNTKScaling(2.0, 4),
            "llama3": Llama3Scaling(context=64),
            "yarn": YaRNScaling(2.0, 64),
        },
    ),
)
def test_compiles_for_every_offset_and_length(scaling: Scaling | None):
    torch._dynamo.reset()  # or all cases would count towards one limit of recompilations
    rotary = Rotary(8, scaling=scaling)
    fast = torch.compile(rotary, fullgraph=True, backend="aot_eager")
    for length, offset in ((5, 0), (1, 5), (1, 6), (9, 100)):
        q, k = torch.randn(2, 3, length, 8), torch.randn(2, 1, length, 8)
        for mine, eager in zip(fast(q, k, offset), rotary(q, k, offset)):
            torch.testing.assert_close(mine, eager)
