"""Cross entropy of linear scores: fused and written out agree with torch's, in values and gradients of both orders."""

import pytest
import torch
from torch import nn

from cutaway.blocks.losses import linear_cross_entropy as fused
from cutaway.blocks.losses.linear_cross_entropy import linear_cross_entropy, linear_cross_entropy_open


@pytest.fixture
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_FEW", 1)


def example(dtype: torch.dtype = torch.float64, bias: bool = True) -> tuple:
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=dtype, requires_grad=True)
    targets = torch.randint(131, (3, 7), generator=generator)
    return draw(3, 7, 5), draw(131, 5), targets, draw(131) if bias else None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_torchs_cross_entropy_of_the_scores(bias, dtype, always_fused, monkeypatch):
    monkeypatch.setattr(fused, "_CACHED", 300)  # two rows at a time
    z, table, targets, b = example(dtype, bias)
    weights = torch.rand(3, 7, dtype=dtype)
    scores = nn.functional.linear(z, table, b).flatten(0, 1)
    want = nn.functional.cross_entropy(scores, targets.flatten(), reduction="none").view(3, 7)
    got = linear_cross_entropy(z, table, targets, b)
    torch.testing.assert_close(got, want)
    learned = [x for x in (z, table, b) if x is not None]
    ours, theirs = (torch.autograd.grad((x * weights).sum(), learned) for x in (got, want))
    torch.testing.assert_close(ours, theirs)


def test_without_gradients_some_rows_at_a_time(always_fused, monkeypatch):
    monkeypatch.setattr(fused, "_HELD", 300)
    z, table, targets, b = example()
    with torch.no_grad():
        found = linear_cross_entropy(z, table, targets, b)
        torch.testing.assert_close(found, linear_cross_entropy_open(z, table, targets, b))


def test_first_and_second_gradients(always_fused):
    z, table, targets, b = example()
    few = (z[:1, :2].detach().requires_grad_(), table[:5].detach().requires_grad_(), b[:5].detach().requires_grad_())
    function = lambda z, table, b: linear_cross_entropy(z, table, targets[:1, :2] % 5, b)
    assert torch.autograd.gradcheck(function, few)
    assert torch.autograd.gradgradcheck(function, few)


def test_only_what_learns_has_a_gradient(always_fused):
    z, table, targets, _ = example(bias=False)
    linear_cross_entropy(z, table.detach(), targets).sum().backward()
    assert z.grad is not None
    linear_cross_entropy(z.detach(), table, targets).sum().backward()
    assert table.grad is not None


def test_logits_of_ten_thousand(always_fused):
    z, table = torch.tensor([[1e4, -1e4]]), torch.eye(2)
    assert linear_cross_entropy(z, table, torch.tensor([0])).item() == 0.0
    assert linear_cross_entropy(z, table, torch.tensor([1])).item() == 2e4


def test_transforms_of_functions_take_the_written_out_equation(always_fused):
    z, table, targets, _ = example(bias=False)
    z, table = z.detach(), table.detach()
    loss = lambda z: linear_cross_entropy(z, table, targets).sum()
    _, along = torch.func.jvp(loss, (z,), (torch.ones_like(z),))
    torch.testing.assert_close(along, torch.func.grad(loss)(z).sum())


@pytest.mark.untyped
def test_compiled(always_fused):
    z, table, targets, b = example(torch.float32)
    whole = torch.compile(linear_cross_entropy, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(whole(z, table, targets, b), linear_cross_entropy_open(z, table, targets, b))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.untyped
def test_bad_values(many, monkeypatch):
    monkeypatch.setattr(fused, "_FEW", 1 if many else 2**22)
    z, table, targets, _ = example()
    with pytest.raises(ValueError, match=r"targets must lie from 0 to 130, got 131; leave padding out"):
        linear_cross_entropy(z, table, targets.clamp(min=131))
    with pytest.raises(ValueError, match=r"one class number for each vector of z, got shapes \(7, 3\) and \(3, 7, 5\)"):
        linear_cross_entropy(z, table, targets.T)
    with pytest.raises(ValueError, match="the last axis of z must have width 5"):
        linear_cross_entropy(z[..., :4], table, targets)
