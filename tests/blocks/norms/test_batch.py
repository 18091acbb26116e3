"""Batch norm against torch.nn in training and evaluation, by hand, and by its laws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from representative import slow_but
from torch import nn

import cutaway as cut
from cutaway.blocks import BatchNorm, batch_norm

HIDDEN = ["mean", "variance", "normalised"]


def drawn(norm: nn.Module) -> nn.Module:
    """The same norm, with γ and β that can be told from 1 and 0."""
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return norm


def twin(peer: nn.Module, **how: object) -> BatchNorm:
    ours = BatchNorm(peer.num_features, **how)
    state = peer.state_dict()
    del state["num_batches_tracked"]
    ours.load_state_dict(state)
    return ours


def test_by_hand():
    norm = BatchNorm(2, epsilon=0.0)
    nn.init.constant_(norm.bias, 5.0)
    # means 2 and 4, variances 1 and 4
    assert torch.equal(norm(torch.tensor([[1.0, 2.0], [3.0, 6.0]])), torch.tensor([[4.0, 4.0], [6.0, 6.0]]))
    # 0.9 · 0 + 0.1 · mean, and 0.9 · 1 + 0.1 · (2/1) · variance
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.2, 0.4]))
    torch.testing.assert_close(norm.running_var, torch.tensor([1.1, 1.7]))


@pytest.mark.parametrize(
    ("peer", "shape", "axis"),
    [
        (nn.BatchNorm1d, (11, 3), -1),
        (nn.BatchNorm1d, (11, 3, 5), 1),
        (nn.BatchNorm2d, (2, 3, 5, 7), 1),
        (nn.BatchNorm2d, (2, 3, 5, 7), -3),
        (nn.BatchNorm3d, (2, 3, 5, 7, 2), 1),
    ],
)
def test_same_as_torch_in_training_and_evaluation(peer, shape, axis, float64):
    theirs = drawn(peer(3, momentum=0.3, eps=1e-3))
    ours = twin(theirs, momentum=0.3, epsilon=1e-3, axis=axis)
    for _ in range(3):
        x, y = (torch.randn(shape) * 2 + 1).requires_grad_(), torch.randn(shape)
        slopes = [torch.autograd.grad((f(x) * y).sum(), [x, f.weight, f.bias]) for f in (ours, theirs)]
        torch.testing.assert_close(slopes[0], slopes[1])
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


def test_all_axes_but_the_features_are_the_batch(float64):
    x = torch.randn(2, 5, 3)
    a, b = BatchNorm(3), BatchNorm(3)
    torch.testing.assert_close(a(x), b(x.reshape(10, 3)).reshape(2, 5, 3))
    torch.testing.assert_close(a.running_var, b.running_var)


def test_statistics_for_each_position(float64):
    """N0 §1.6: T[b, n, c] − mean(T[•, n, c]), over √(var(T[•, n, c]) + ε)."""
    T = torch.randn(11, 5, 3)
    norm = BatchNorm((5, 3), axis=(-2, -1))
    expected = torch.empty_like(T)
    for n in range(5):
        for c in range(3):
            column = T[:, n, c]
            expected[:, n, c] = (column - column.mean()) / torch.sqrt(column.var(correction=0) + 1e-5)
    torch.testing.assert_close(norm(T), expected)
    assert norm.running_mean.shape == (5, 3)
    with cut.patch(norm, {"normalised": lambda v: v}):
        torch.testing.assert_close(norm(T), expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("width", "shape", "axis"), [(3, (11, 3), -1), (3, (2, 3, 5, 7), 1), ((5, 3), (2, 5, 3), (-2, -1))]
)
def test_fused_is_written_out(width, shape, axis, training, float64):
    fused = drawn(BatchNorm(width, axis=axis)).train(training)
    nn.init.uniform_(fused.running_mean)
    nn.init.uniform_(fused.running_var)
    open_ = BatchNorm(width, axis=axis).train(training)
    open_.load_state_dict(fused.state_dict())
    x = torch.randn(shape)
    with cut.patch(open_, {tap: lambda v: v for tap in HIDDEN}):
        torch.testing.assert_close(open_(x), fused(x))
    torch.testing.assert_close(open_.running_mean, fused.running_mean)
    torch.testing.assert_close(open_.running_var, fused.running_var)


@pytest.mark.parametrize("training", [True, False])
def test_reading_changes_nothing(training):
    quiet, read = BatchNorm(3).train(training), BatchNorm(3).train(training)
    x = torch.randn(11, 3)
    with cut.trace(read, HIDDEN) as seen:
        assert torch.equal(read(x), quiet(x))
    assert torch.equal(read.running_mean, quiet.running_mean)
    assert torch.equal(read.running_var, quiet.running_var)
    torch.testing.assert_close(seen["mean"], x.mean(0) if training else torch.zeros(3))
    torch.testing.assert_close(seen["variance"], x.var(0, correction=0) if training else torch.ones(3))


def test_taps_take_gradients(float64):
    norm = drawn(BatchNorm(3))
    x, y = torch.randn(11, 3), torch.randn(11, 3)
    with cut.trace(norm, "normalised", gradients=True) as seen:
        (norm(x) * y).sum().backward()
    torch.testing.assert_close(seen.gradient["normalised"], y * norm.weight)


def test_the_function_is_the_module_at_test(float64):
    norm = drawn(BatchNorm(3, axis=1)).eval()
    nn.init.uniform_(norm.running_mean)
    nn.init.uniform_(norm.running_var)
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(
        batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, axis=1), norm(x)
    )


@given(scale=st.floats(0.01, 100), shift=st.floats(-100, 100), feature=st.integers(0, 2))
def test_no_unit_of_measurement_matters(scale, shift, feature):
    x = torch.randn(11, 3, dtype=torch.float64)
    other = x.clone()
    other[:, feature] = scale * x[:, feature] + shift
    norm = BatchNorm(3, epsilon=0.0).double()
    torch.testing.assert_close(norm(other), norm(x), rtol=1e-6, atol=1e-6)


def test_evaluation_moves_no_average_and_takes_one_example():
    norm = BatchNorm(3).eval()
    norm(torch.randn(11, 3))
    assert torch.equal(norm.running_mean, torch.zeros(3))
    assert norm(torch.randn(1, 3)).shape == (1, 3)
    assert norm(torch.randn(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("whole", [True, False], ids=["half weights", "float32 weights"])
@pytest.mark.parametrize("written_out", [True, False])
def test_half_precision_is_computed_in_float32(dtype, whole, written_out):
    x = (torch.randn(1000, 3) * 100 + 300).to(dtype)  # squares beyond the range of float16
    exact, half = BatchNorm(3), BatchNorm(3).to(dtype if whole else torch.float32)
    expected = exact(x.float())
    if written_out:
        with cut.patch(half, {"mean": lambda v: v}):
            y = half(x)
    else:
        y = half(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y, expected.to(dtype))
    tolerance = dict(rtol=1e-2 if whole else 1e-5, atol=0)  # of the buffers' own precision
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(getattr(half, name).float(), getattr(exact, name), **tolerance)


def test_reset_parameters():
    norm = BatchNorm(3)
    fresh = {name: value.clone() for name, value in norm.state_dict().items()}
    drawn(norm)(torch.randn(11, 3))
    norm.reset_parameters()
    for name, value in norm.state_dict().items():
        assert torch.equal(value, fresh[name])


def test_made_on_the_meta_device():
    with torch.device("meta"):
        assert BatchNorm(3).running_var.is_meta


@pytest.mark.parametrize(("size", "shape"), [(1, r"\(1, 3\)"), (0, r"\(0, 3\)")])
def test_training_needs_a_batch(size, shape):
    message = f"needs at least 2 values for each feature, got {size} in shape {shape}; use a larger batch"
    with pytest.raises(ValueError, match=message):
        BatchNorm(3)(torch.randn(size, 3))


def test_one_image_is_a_batch_of_pixels():
    assert BatchNorm(3, axis=1)(torch.randn(1, 3, 5, 7)).shape == (1, 3, 5, 7)


def test_bad_settings():
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        BatchNorm(0)
    with pytest.raises(ValueError, match=r"neighbours, got width=\(5, 3\) and axis=\(-1,\); .* try axis=\(-2, -1\)"):
        BatchNorm((5, 3))
    with pytest.raises(ValueError, match=r"got width=\(5, 3\) and axis=\(-3, -1\)"):
        BatchNorm((5, 3), axis=(-3, -1))
    with pytest.raises(ValueError, match=r"momentum must be above 0 and at most 1, got 1.5; try momentum=0.1"):
        BatchNorm(3, momentum=1.5)
    with pytest.raises(ValueError, match=r"epsilon must be 0 or above, got -1.0; try epsilon=1e-5"):
        BatchNorm(3, epsilon=-1.0)


def test_bad_shapes():
    with pytest.raises(
        ValueError, match=r"weight must have the shape of axes \(1,\) of x, \(4,\), got \(3,\) for x of shape"
    ):
        BatchNorm(3)(torch.randn(5, 4))
    with pytest.raises(
        ValueError, match=r"axes must name axes of x, each once, got \(1,\) for shape \(3,\); use .* -1 to 0"
    ):
        BatchNorm(3, axis=1)(torch.randn(3))
    with pytest.raises(ValueError, match=r"variance must have the shape of axes \(1,\) of x, \(3,\), got \(1,\)"):
        batch_norm(torch.randn(5, 3), torch.zeros(3), torch.ones(1))


@pytest.mark.untyped
def test_bad_dtype():
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        BatchNorm(3)(torch.ones(5, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        batch_norm(torch.ones(5, 3, dtype=torch.long), torch.zeros(3), torch.ones(3))


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("make", "x"),
    slow_but(
        "half precision",
        {
            "half precision": (lambda: BatchNorm(3, axis=1).bfloat16(), torch.randn(2, 3, 5, 7).bfloat16()),
            "two axes": (lambda: BatchNorm((5, 3), axis=(-2, -1)), torch.randn(2, 5, 3)),
            "no epsilon": (lambda: BatchNorm(3, epsilon=0.0), torch.randn(5, 3)),
        },
    ),
)
def test_every_path_compiles(make, x):
    fast, plain = make(), make()
    torch.testing.assert_close(torch.compile(fast, fullgraph=True, backend="aot_eager")(x), plain(x))
    torch.testing.assert_close(fast.running_var, plain.running_var)


def test_the_layout_of_images_in_memory_is_kept():
    x = torch.randn(2, 3, 5, 4).contiguous(memory_format=torch.channels_last)
    norm = BatchNorm(3, axis=-3)
    assert norm(x).is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(norm(x), BatchNorm(3, axis=-3)(x.contiguous()))
