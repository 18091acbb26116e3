"""Pooling over grids and over features: by hand, torch, both paths, the mean as a convolution, messages."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cutaway.blocks import (
    Conv2d,
    MaxPool2d,
    MeanPool2d,
    as_dense,
    global_pool,
    max_pool,
    mean_pool,
    pool_features,
    pool_grid_open,
)

IMAGE = torch.tensor([[[1.0, 5, 2, 3, 9], [2, 0, 8, 1, 9]]])


def test_by_hand():
    assert max_pool(IMAGE).tolist() == [[[5, 8]]]  # the fifth column is left out: its window would reach outside
    assert mean_pool(IMAGE).tolist() == [[[2, 3.5]]]
    assert max_pool(IMAGE, (1, 3), 1).tolist() == [[[5, 5, 9], [8, 8, 9]]]
    assert global_pool(IMAGE, "max").tolist() == [9]
    assert global_pool(IMAGE).tolist() == [4]


def test_features_are_pooled_as_places_are():
    x = torch.tensor([[1.0, 5, 2, 3, 0, -1]])
    assert pool_features(x, 3, axis=-1).tolist() == [[5, 3]]
    assert pool_features(x, 2, "mean", axis=1).tolist() == [[3, 2.5, -0.5]]
    image = torch.randn(2, 6, 4, 5)
    assert torch.equal(pool_features(image, 2), image.reshape(2, 3, 2, 4, 5).amax(2))


@given(
    st.sampled_from(["max", "mean"]),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 2)),
    st.sampled_from([None, 1, 2]),
)
def test_both_paths_are_equal_gradients_too(how, axes, kernel, stride):
    torch.manual_seed(axes)
    x = torch.randn(2, 1, 3, *(5, 4, 6)[:axes], dtype=torch.float64)
    results = []
    for path in (
        {"max": max_pool, "mean": mean_pool}[how],
        lambda x, kernel, stride, axes: pool_grid_open(x, kernel, stride, how, axes),
    ):
        v = x.clone().requires_grad_()
        y = path(v, kernel[:axes], stride, axes=axes)
        results.append([y, *torch.autograd.grad((y * y.detach().cos()).sum(), v)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_modules_equal_torchs(float64):
    x = torch.randn(2, 3, 7, 6)
    assert torch.equal(MaxPool2d(3, 2)(x), nn.MaxPool2d(3, 2)(x))
    assert torch.equal(MeanPool2d((2, 3))(x), nn.AvgPool2d((2, 3))(x))


def test_the_mean_is_a_convolution_of_equal_weights(float64):
    pool, conv, x = MeanPool2d(2), Conv2d(3, 3, 2, "valid", stride=2, groups=3, bias=False), torch.randn(4, 3, 6, 4)
    nn.init.constant_(conv.weight, 1 / 4)
    torch.testing.assert_close(pool(x), conv(x))
    assert torch.equal(as_dense(pool.double(), (6, 4), channels=3).weight, as_dense(conv, (6, 4)).weight)


def test_repr():
    assert MaxPool2d(3, 2).extra_repr() == "kernel=3, stride=2"
    assert MeanPool2d((2, 1)).extra_repr() == "kernel=2×1, stride=2×1"


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"channels and 2 axes of at least 3, got shape \(1, 2, 5\); try a smaller"):
        max_pool(IMAGE, 3)
    with pytest.raises(ValueError, match=r"axes must be 1, 2 or 3, got 4"):
        mean_pool(IMAGE, axes=4)
    with pytest.raises(ValueError, match=r"how must be one of max, mean, got 'median'"):
        global_pool(IMAGE, "median")
    with pytest.raises(ValueError, match=r"axis -3 must be a multiple of group=4, got shape \(6, 2, 2\); try group=2"):
        pool_features(torch.zeros(6, 2, 2), 4)
    with pytest.raises(ValueError, match=r"axis -3 must be .* got shape \(6,\); try another axis"):
        pool_features(torch.zeros(6), 3)
    with pytest.raises(ValueError, match=r"channels must be given for MeanPool2d, got channels=None; it takes any"):
        as_dense(MeanPool2d(2), 4)
    with pytest.raises(ValueError, match=r"channels must be 3 for Conv2d, got channels=2; leave it out"):
        as_dense(Conv2d(3, 3), 4, channels=2)
