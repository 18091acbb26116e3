"""What views accept, and what they say to the rest."""

import numpy as np
import pytest
import torch

from cutaway.look.charts.arrays import as_array, by_layer, short_names


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.bool])
def test_tensors_of_any_kind(dtype: torch.dtype):
    x = torch.tensor([[0, 1], [1, 0]]).to(dtype)
    assert as_array("x", x, "rows", "columns").tolist() == [[0, 1], [1, 0]]


def test_weights_with_gradients_lists_and_arrays():
    x = torch.ones(2, 3, requires_grad=True)
    assert as_array("x", x * 2).tolist() == [[2, 2, 2], [2, 2, 2]]
    assert as_array("x", [x[0], x[1]]).shape == (2, 3)
    assert as_array("x", [[1, 2], [3, 4]]).dtype == np.float64
    assert as_array("x", np.ones(3, dtype=np.float32)).dtype == np.float32  # not copied to twice the size


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (torch.ones(2, 3, 4), r"x must have the axes \(rows, columns\), got shape \(2, 3, 4\); pick one, as in x\[0\]"),
        (torch.ones(3), r"x must have the axes \(rows, columns\), got shape \(3,\); add what is missing"),
        (torch.ones(0, 3), r"x must hold at least one number, got shape \(0, 3\); there is nothing to draw"),
        (torch.ones(2, 3, dtype=torch.complex64), r"must be real numbers .* got torch.complex64 of shape \(2, 3\)"),
        ([[1, 2], [3]], "x must be real numbers in a tensor, an array or lists of one length, got list; pass a tensor"),
        ([torch.ones(2), torch.ones(3)], "lists of one length, got list; pass a tensor"),
        ([["a"]], "x must be real numbers .* got list"),
    ],
)
def test_messages(values, message: str):
    with pytest.raises(ValueError, match=message):
        as_array("x", values, "rows", "columns")


def test_layers_as_a_trace_holds_them():
    w = torch.rand(2, 3, 4, 4)
    expected = {"0": (3, 4, 4), "1": (3, 4, 4)}
    seen = {f"blocks.{i}.attention.weights": w[i : i + 1] for i in range(2)}  # with a batch of one
    for given in (w, list(w), seen, w.numpy()):
        layers = by_layer(given)
        assert {name: x.shape for name, x in layers.items()} == expected
        assert np.array_equal(layers["1"], w[1].numpy())


def test_bad_layers():
    with pytest.raises(ValueError, match="weights must hold at least one layer, got none"):
        by_layer({})
    with pytest.raises(ValueError, match=r"got a batch of shape \(5, 3, 4, 4\) at 'a'; pick one example, as in x\[0\]"):
        by_layer({"a": torch.rand(5, 3, 4, 4)})
    with pytest.raises(
        ValueError, match=r"weights of '0' must have the axes \(heads, queries, keys\), got shape \(4, 4\)"
    ):
        by_layer(torch.rand(3, 4, 4))


def test_names_keep_what_tells_them_apart():
    assert short_names(["a.0.x", "a.1.x"]) == ["0", "1"]
    assert short_names(["encoder.0.w", "decoder.0.w"]) == ["encoder", "decoder"]
    assert short_names(["blocks.0.w"]) == ["blocks.0.w"]
    assert short_names(["a", "a.b"]) == ["a", "a.b"]
    assert short_names(["a.0.x", "a.0.y"]) == ["x", "y"]
