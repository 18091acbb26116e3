"""Hooks end with the watch that hung them: on modules, on tensors, on parameters, also when opening fails."""

import gc
from contextlib import ExitStack

import pytest
import torch
from looking import assert_nothing_left, chain
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import cutaway as cut
from cutaway.inside.address_globs import Site
from cutaway.inside.hooks import HookedWatch, into_graph, watchable


class Given(nn.Module):
    """Returns its own parameter, as a learned start or a prompt does."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self) -> Tensor:
        return self.start


class Prompted(nn.Module):
    """y = start · x + 7 start; the second use does not come from the module that returns it."""

    def __init__(self) -> None:
        super().__init__()
        self.given = Given()

    def forward(self, x: Tensor) -> Tensor:
        return self.given() * x + 7 * self.given.start


def hooks_on(x: Tensor) -> int:
    return len(x._backward_hooks or {})


def test_a_returned_parameter_keeps_no_hook():
    model, x = Prompted(), torch.tensor([1.0, 10.0, 100.0])
    with cut.trace(model, "given", gradients=True) as seen:
        model(x).sum().backward()
    assert torch.equal(seen.gradient["given"], x)  # through the module, without the other use
    assert torch.equal(model.given.start.grad, x + 7)
    assert hooks_on(model.given.start) == 0
    model(x).sum().backward()
    assert torch.equal(seen.gradient["given"], x)


def test_an_input_that_is_a_leaf_keeps_no_hook():
    model, x = chain(), torch.randn(7, 3, requires_grad=True)
    with cut.trace(model, "input", gradients=True) as seen:
        model(x).sum().backward()
    assert torch.equal(seen.gradient["input"], x.grad)
    assert hooks_on(x) == 0
    with torch.no_grad(), cut.trace(model, "input", gradients=True):
        model(x)
    assert hooks_on(x) == 0


def test_a_patch_to_a_parameter_under_a_checkpoint_leaves_later_passes_alone():
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Tanh()

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(lambda x: 2 * self.inner(x), x, use_reentrant=False)

    model, vector = Checkpointed(), nn.Parameter(torch.ones(3))
    with cut.patch(model, {"inner": lambda _: vector}):
        model(torch.zeros(3, requires_grad=True)).sum().backward()
    assert hooks_on(vector) == 0
    vector.sum().backward()  # used to raise: the patch is closed
    assert vector.grad.tolist() == [3.0] * 3


def test_into_graph():
    leaf, constant, tokens = torch.ones(2, requires_grad=True), torch.ones(2), torch.tensor([1])
    made = leaf * 2
    assert into_graph(made) is made
    assert into_graph(tokens) is tokens
    for x in (leaf, constant, nn.Parameter(torch.eye(2).to_sparse())):
        inside = into_graph(x)
        assert inside.requires_grad
        assert not inside.is_leaf
    assert into_graph(leaf).data_ptr() == leaf.data_ptr()
    parts = [made, constant, tokens]
    assert watchable(parts) is parts
    assert watchable([leaf, constant])[1] is constant


def test_opening_that_fails_half_way_is_undone():
    model = chain()

    class Failing(HookedWatch):
        def begin(self, undo: ExitStack) -> None:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Failing({Site(model[0]): ["0"], Site(model[1], is_input=True): ["1.input"]}).open()
    assert_nothing_left(model)


class Biased(nn.Module):
    """Returns its output and a constant that goes on as a mask, as the layers of T5 do."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return 2 * x, torch.linspace(-1, 1, 64).expand(1, 1, 8, 64).clone()


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.biased = Biased()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> tuple[Tensor, bool]:
        y, bias = self.biased(self.scale * x)
        return nn.functional.scaled_dot_product_attention(y[..., :8, :], y, y, attn_mask=bias), bias.requires_grad


def test_a_constant_beside_the_output_stays_a_constant():
    model, x = Attending(), torch.randn(2, 3, 64, 16)
    plain, _ = model(x)
    with cut.trace(model, "biased", gradients=True) as seen:
        traced, entered = model(x)
        traced.sum().backward()
    assert not entered
    assert torch.equal(traced, plain)
    gradient, nothing = seen.gradient["biased"]
    assert gradient.shape == x.shape
    assert nothing is None


def test_no_watch_is_held_by_the_graph():
    model, x = Prompted(), torch.ones(3)
    with cut.trace(model, "given", gradients=True) as seen:
        y = model(x)
    del seen
    gc.collect()
    y.sum().backward()
    assert_nothing_left(model)
