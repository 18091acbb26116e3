"""Nested and sparse tensors: their sides, their numbers, and looking at them."""

import pytest
import torch
from torch import Tensor, nn

import cutaway as cut
from cutaway.inside.tensor_layouts import dense, sides_of

LAYOUTS = [torch.jagged, torch.strided]
PARTS = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3) - 5]


def ragged(layout: torch.layout, parts: list[Tensor] = PARTS) -> Tensor:
    return torch.nested.nested_tensor(parts, layout=layout)


def total(y: Tensor) -> Tensor:
    return y.to_padded_tensor(0.0).sum() if y.layout is torch.strided else y.values().sum()


def layers() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_sides_and_numbers(layout: torch.layout):
    x = ragged(layout)
    assert (sides_of(x)[0], sides_of(x)[2]) == (2, 3)
    assert not isinstance(sides_of(x)[1], int)
    assert torch.equal(dense(x), torch.cat(PARTS))
    assert sides_of(torch.ones(2, 3)) == (2, 3)


def test_parts_that_differ_in_width_are_one_column():
    x = ragged(torch.strided, [torch.ones(2, 3), torch.zeros(4, 1)])
    assert dense(x).flatten().tolist() == [1.0] * 6 + [0.0] * 4


def test_sparse_tensors():
    x = torch.eye(3)
    assert torch.equal(dense(x.to_sparse()), x)
    assert torch.equal(dense(x.to_sparse_csr()), x)
    assert dense(x) is x


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_trace_reads_nested_values_and_gradients(layout: torch.layout):
    model, x = layers(), ragged(layout)
    with cut.trace(model, "*", "input", gradients=True) as seen:
        total(model(x)).backward()
    for part, value in zip(PARTS, seen["0"].unbind(), strict=True):
        torch.testing.assert_close(value, model[0](part))
    free = torch.cat(PARTS).requires_grad_()
    model(free).sum().backward()
    torch.testing.assert_close(dense(seen.gradient["input"]), free.grad)
    assert repr(seen).splitlines()[0].startswith("0  (2, ")
    assert cut.addresses(model, x)["2"][::2] == (2, 2)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_patch_takes_a_number_or_another_nested_tensor(layout: torch.layout):
    model, x = layers(), ragged(layout)
    with cut.patch(model, {"0": 0.5}):
        torch.testing.assert_close(dense(model(x)), model[2](torch.full((6, 5), 0.5).relu()))
    other = ragged(layout, [torch.ones(2, 5), torch.ones(4, 5)])
    with cut.patch(model, {"0": other}):
        torch.testing.assert_close(dense(model(x)), model[2](torch.ones(6, 5).relu()))
    message = r"every part .* got \(7, 4\) for \(2,"
    with pytest.raises(ValueError, match=message), cut.patch(model, {"0": torch.ones(7, 4)}):
        model(x)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_only_a_part_cannot_be_asked_for(layout: torch.layout):
    model = layers()
    message = r"only must index the leading axes .* got only=\(0,\) for one of shape \(2, "
    with pytest.raises(ValueError, match=message), cut.trace(model, "0", only=0):
        model(ragged(layout))
