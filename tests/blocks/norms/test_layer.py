"""Layer norm against torch.nn, by hand, fused against written out, and by its laws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from representative import slow_but
from torch import nn

import cutaway as cut
from cutaway.blocks import LayerNorm, layer_norm


def drawn(norm: nn.Module) -> nn.Module:
    """The same norm, with γ and β that can be told from 1 and 0."""
    for p in norm.parameters():
        nn.init.normal_(p)
    return norm


def test_by_hand():
    # mean 3, variance (4 + 0 + 4)/3: the outer entries are ∓2 / √(8/3) = ∓√1.5
    y = layer_norm(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([2.0, 2.0, 2.0]), torch.ones(3), epsilon=0.0)
    torch.testing.assert_close(y, torch.tensor([1 - 2 * math.sqrt(1.5), 1.0, 1 + 2 * math.sqrt(1.5)]))


def test_epsilon_is_added_to_the_variance_under_the_root():
    # variance 1 and ε = 3: divided by √4; N3 prints √std, which would give 1 / √1
    assert torch.equal(layer_norm(torch.tensor([1.0, 3.0]), epsilon=3.0), torch.tensor([-0.5, 0.5]))


@pytest.mark.parametrize("shape", [3, (5, 3), (2, 5, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_same_as_torch(shape, bias, float64):
    theirs = drawn(nn.LayerNorm(shape, eps=1e-3, bias=bias))
    ours = LayerNorm(shape, epsilon=1e-3, bias=bias)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(7, 2, 5, 3)
    assert torch.equal(ours(x), theirs(x))


def test_all_axes_but_the_batch(float64):
    """N0 §1.6: T[b, n, c] − mean(T[b, •, •]), over √(var(T[b, •, •]) + ε)."""
    T = torch.randn(2, 5, 3)
    expected = torch.stack([(t - t.mean()) / torch.sqrt(t.var(correction=0) + 1e-5) for t in T])
    torch.testing.assert_close(LayerNorm((5, 3))(T), expected)
    torch.testing.assert_close(layer_norm(T, axes=(1, 2)), expected)


@pytest.mark.parametrize("axes", [(1,), (0, 2), (2, 0), (1, 2), (2, 1), (-1, -3)])
def test_any_axes_is_the_fused_form_on_moved_axes(axes, float64):
    x = torch.randn(2, 5, 3)
    shape = [x.shape[axis] for axis in axes]
    gain, bias = torch.randn(shape), torch.randn(shape)
    back = list(range(-len(axes), 0))
    moved = nn.functional.layer_norm(x.movedim(axes, back), shape, gain, bias)
    torch.testing.assert_close(layer_norm(x, gain, bias, axes), moved.movedim(back, axes))


@pytest.mark.parametrize(("shape", "axes"), [(3, None), ((5, 3), None), (5, 1), ((3, 5), (-1, -2))])
def test_fused_is_written_out(shape, axes, float64):
    norm = drawn(LayerNorm(shape, axes=axes))
    x = torch.randn(2, 5, 3)
    y = norm(x)
    with cut.patch(norm, {"scale": lambda v: v, "normalised": lambda v: v}):
        torch.testing.assert_close(norm(x), y)


def test_reading_changes_no_bit():
    norm = drawn(LayerNorm(384))
    x = torch.randn(11, 384)
    y = norm(x)
    with cut.trace(norm, "scale", "normalised"):
        assert torch.equal(norm(x), y)
    with cut.patch(norm, {"scale": lambda v: v}):
        assert not torch.equal(norm(x), y)  # written out it rounds elsewhere, which is how we know


def test_taps_hold_the_values_of_the_equation(float64):
    norm = drawn(LayerNorm(3))
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    with cut.trace(norm, "scale", "normalised", "output", gradients=True) as seen:
        out = norm(x)
        (out * y).sum().backward()
    torch.testing.assert_close(seen["scale"], torch.sqrt(x.var(1, correction=0, keepdim=True) + 1e-5))
    torch.testing.assert_close(seen["normalised"] * seen["scale"], x - x.mean(1, keepdim=True))
    assert torch.equal(seen["output"], out)
    torch.testing.assert_close(seen.gradient["normalised"], y * norm.weight)


def test_with_its_scale_held_layer_norm_is_linear(float64):
    norm = LayerNorm(3)
    a, b = torch.randn(5, 3), torch.randn(5, 3)
    assert not torch.allclose(norm(a + b), norm(a) + norm(b))
    with cut.patch(norm, {"scale": 2.0}):
        torch.testing.assert_close(norm(a + b), norm(a) + norm(b))


@given(scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_each_vector_may_be_scaled_and_shifted(scale, shift):
    x = torch.randn(3, 7, dtype=torch.float64)
    other = x.clone()
    other[1] = scale * x[1] + shift
    torch.testing.assert_close(layer_norm(other, epsilon=0.0), layer_norm(x, epsilon=0.0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weights", ["half", "float32"])
@pytest.mark.parametrize("written_out", [True, False])
def test_half_precision_is_computed_in_float32(dtype, weights, written_out):
    x = (torch.randn(11, 384) * 100 + 300).to(dtype)  # squares beyond the range of float16
    norm = drawn(LayerNorm(384)).to(dtype)
    expected = layer_norm(x.float(), norm.weight.float(), norm.bias.float()).to(dtype)
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
    norm = drawn(LayerNorm(3))
    norm.reset_parameters()
    assert torch.equal(norm.weight, torch.ones(3))
    assert torch.equal(norm.bias, torch.zeros(3))


def test_made_on_the_meta_device():
    with torch.device("meta"):
        assert LayerNorm(3).weight.is_meta


def test_bad_settings():
    with pytest.raises(ValueError, match="shape must be above 0, got 0"):
        LayerNorm((5, 0))
    with pytest.raises(
        ValueError, match=r"one size for each of the axes, got shape=\(3,\) and axes=\(1, 2\); give as many"
    ):
        LayerNorm(3, axes=(1, 2))
    with pytest.raises(ValueError, match=r"epsilon must be 0 or above, got -1.0; try epsilon=1e-5"):
        LayerNorm(3, epsilon=-1.0)


@pytest.mark.parametrize("written_out", [True, False])
def test_bad_shapes(written_out):
    norm = LayerNorm(3)
    message = r" must have the shape of axes \(1,\) of x, \(4,\), got \(3,\) for x of shape \(5, 4\); give x the size"
    with pytest.raises(ValueError, match=message), cut.patch(norm, {"scale" if written_out else "output": 1.0}):
        norm(torch.randn(5, 4))


def test_bad_axes():
    with pytest.raises(ValueError, match=r"each once, got \(2,\) for shape \(5, 3\); use numbers from -2 to 1"):
        layer_norm(torch.randn(5, 3), axes=2)
    with pytest.raises(ValueError, match=r"each once, got \(1, -1\) for shape \(5, 3\)"):
        layer_norm(torch.randn(5, 3), axes=(1, -1))
    with pytest.raises(ValueError, match=r"bias must have the shape of axes \(1,\) of x, \(3,\), got \(1,\)"):
        layer_norm(torch.randn(5, 3), torch.ones(3), torch.ones(1))


@pytest.mark.untyped
def test_bad_dtype():
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        LayerNorm(3)(torch.ones(5, 3, dtype=torch.long))


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("axes", "dtype"),
    slow_but(
        "given, half precision",
        {
            "last, single precision": (None, torch.float32),
            "last, half precision": (None, torch.bfloat16),
            "given, single precision": (0, torch.float32),
            "given, half precision": (0, torch.bfloat16),
        },
    ),
)
def test_every_path_compiles(axes, dtype):
    norm, x = drawn(LayerNorm(3, axes=axes)), torch.randn(3, 3).to(dtype)
    torch.testing.assert_close(torch.compile(norm, fullgraph=True, backend="aot_eager")(x), norm(x))
