"""RMS norm against torch.nn and T5's, by hand, fused against written out, and by its laws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import cutaway as cut
from cutaway.blocks import RMSNorm, layer_norm, rms_norm


def drawn(norm: nn.Module) -> nn.Module:
    nn.init.normal_(norm.weight)
    return norm


def test_by_hand():
    # mean square (1 + 49)/2 = 25
    y = rms_norm(torch.tensor([1.0, -7.0]), torch.tensor([10.0, 1.0]), epsilon=0.0)
    torch.testing.assert_close(y, torch.tensor([2.0, -1.4]))


def test_same_as_torch(float64):
    theirs = drawn(nn.RMSNorm(3, eps=1e-3))
    ours = RMSNorm(3, epsilon=1e-3)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("gain", [True, False])
def test_gradients_are_those_of_the_equation(gain, float64):
    x, y = torch.randn(2, 5, 3, requires_grad=True), torch.randn(2, 5, 3)
    g = torch.randn(3, requires_grad=True) if gain else None
    wanted = [x, g] if gain else [x]
    plain = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * (g if gain else 1)
    expected = torch.autograd.grad((plain * y).sum(), wanted)
    torch.testing.assert_close(torch.autograd.grad((rms_norm(x, g) * y).sum(), wanted), expected)


def test_same_as_t5(float64):
    peer = pytest.importorskip("transformers.models.t5.modeling_t5").T5LayerNorm(3, eps=1e-6)
    nn.init.normal_(peer.weight)
    ours = RMSNorm(3)
    ours.load_state_dict(peer.state_dict())
    x = torch.randn(2, 5, 3)
    # T5 squares and averages in float32 whatever comes
    torch.testing.assert_close(ours(x), peer(x), rtol=1e-6, atol=1e-6)


def test_fused_is_written_out(float64):
    norm = drawn(RMSNorm(3))
    x = torch.randn(2, 5, 3)
    y = norm(x)
    with cut.patch(norm, {"scale": lambda v: v, "normalised": lambda v: v}):
        torch.testing.assert_close(norm(x), y)


def test_reading_changes_no_bit():
    norm = drawn(RMSNorm(384))
    x = torch.randn(11, 384)
    y = norm(x)
    with cut.trace(norm, "scale", "normalised"):
        assert torch.equal(norm(x), y)
    with cut.patch(norm, {"scale": lambda v: v}):
        assert not torch.equal(norm(x), y)  # written out it rounds elsewhere, which is how we know


def test_taps_hold_the_values_of_the_equation(float64):
    norm = drawn(RMSNorm(3))
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    with cut.trace(norm, "scale", "normalised", "output", gradients=True) as seen:
        out = norm(x)
        (out * y).sum().backward()
    torch.testing.assert_close(seen["scale"] ** 2, x.square().mean(1, keepdim=True) + 1e-6)
    torch.testing.assert_close(seen["normalised"] * seen["scale"], x)
    assert torch.equal(seen["output"], out)
    torch.testing.assert_close(seen.gradient["normalised"], y * norm.weight)


@given(scale=st.floats(0.01, 100))
def test_each_vector_may_be_scaled(scale):
    x = torch.randn(3, 7, dtype=torch.float64)
    torch.testing.assert_close(rms_norm(scale * x, epsilon=0.0), rms_norm(x, epsilon=0.0))


def test_layer_norm_is_rms_norm_of_the_centred_vector(float64):
    x = torch.randn(5, 3)
    torch.testing.assert_close(rms_norm(x - x.mean(1, keepdim=True), epsilon=1e-5), layer_norm(x, epsilon=1e-5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weights", ["half", "float32"])
@pytest.mark.parametrize("written_out", [True, False])
def test_half_precision_is_computed_in_float32(dtype, weights, written_out):
    x = (torch.randn(11, 384) * 300).to(dtype)  # squares beyond the range of float16
    norm = drawn(RMSNorm(384)).to(dtype)
    expected = rms_norm(x.float(), norm.weight.float()).to(dtype)
    if weights == "float32":
        norm.float()
    if written_out:
        with cut.patch(norm, {"scale": lambda v: v}):
            y = norm(x)
    else:
        y = norm(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y, expected)


def test_reset_parameters():
    norm = drawn(RMSNorm(3))
    norm.reset_parameters()
    assert torch.equal(norm.weight, torch.ones(3))


def test_made_on_the_meta_device():
    with torch.device("meta"):
        assert RMSNorm(3).weight.is_meta


def test_bad_settings():
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        RMSNorm(0)
    with pytest.raises(ValueError, match=r"epsilon must be 0 or above, got -1.0; try epsilon=1e-6"):
        RMSNorm(3, epsilon=-1.0)


@pytest.mark.untyped
@pytest.mark.parametrize("written_out", [True, False])
def test_bad_input(written_out):
    norm = RMSNorm(3)
    with (
        pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(5, 4\)"),
        cut.patch(norm, {"scale" if written_out else "output": lambda v: v}),
    ):
        norm(torch.randn(5, 4))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        norm(torch.ones(5, 3, dtype=torch.long))
