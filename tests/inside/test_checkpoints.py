"""Activation checkpointing: recomputation is not recorded, gradients are right, and a patch closed early raises."""

import gc
import threading
import weakref

import pytest
import torch
from looking import TELLING, Layers, ThreeSum, assert_nothing_left
from torch import nn
from torch.utils.checkpoint import checkpoint

import cutaway as cut

CLOSED = (
    r"a patch under activation checkpointing must stay open through backward, got backward after the patch of '.*' was "
    r"closed; call backward\(\) inside the `with` block"
)


class Checkpointed(Layers):
    reentrant = False

    def forward(self, x):
        return checkpoint(self.compute, x, use_reentrant=self.reentrant)


class Reentrant(Checkpointed):
    reentrant = True


class Nested(Checkpointed):
    """b in a checkpoint of its own, inside the one around everything."""

    def compute(self, x):
        inner = checkpoint(lambda h: torch.tanh(self.b(h)), torch.tanh(self.a(x)), use_reentrant=False)
        return self.c(inner)


class Detached(Checkpointed):
    """No gradient passes through b, but c's needs b's value."""

    def compute(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x))).detach()))


class Offloaded(Checkpointed):
    """Other hooks on saved tensors lie over the checkpoint's."""

    def compute(self, x):
        with torch.autograd.graph.save_on_cpu():
            h = torch.tanh(self.b(torch.tanh(self.a(x))))
        return self.c(h)


KINDS = [Checkpointed, Nested, Detached, Offloaded]


def pair(kind):
    """A checkpointed model and the same one without checkpoints."""
    model, plain = kind(), Layers()
    plain.load_state_dict(model.state_dict())
    if kind is Detached:
        plain.compute = lambda x: Detached.compute(plain, x)
    return model, plain


def assert_same_gradients(model, plain):
    for (name, p), q in zip(model.named_parameters(), plain.parameters(), strict=True):
        if q.grad is None:
            assert p.grad is None or not p.grad.any(), name
        else:
            assert torch.equal(p.grad, q.grad), name


@pytest.mark.parametrize("kind", [*KINDS, Reentrant])
@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward after"])
def test_recomputation_is_not_recorded(kind, inside):
    model, plain = pair(kind)
    x = torch.randn(5, 3, requires_grad=True)
    with cut.trace(model, "a", "b", "c") as seen:
        loss = model(x).sum()
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    assert [len(seen.calls[name]) for name in "abc"] == [1, 1, 1]
    plain(x).sum().backward()
    assert_same_gradients(model, plain)
    assert_nothing_left(model)


@pytest.mark.parametrize("kind", [Checkpointed, Nested, Offloaded])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward after"])
def test_gradients_of_inner_values(kind, frozen, inside):
    model, plain = pair(kind)
    model.a.requires_grad_(not frozen)  # frozen: the trace brings the values into the graph, in both runs
    x = torch.randn(5, 3)
    with cut.trace(model, "a", "b", "c.input", gradients=True) as seen:
        loss = model(x).square().sum()
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    with cut.trace(plain, "a", "b", "c.input", gradients=True) as expected:
        plain(x).square().sum().backward()
    for address in expected:
        assert torch.equal(seen.gradient[address], expected.gradient[address]), address


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", [lambda h: h * h, torch.ones(3)], ids=["function", "constant"])
@pytest.mark.parametrize("address", ["a", "b", "c", "b.input"])
def test_a_patch_open_through_backward_gives_the_gradients_of_the_edit_by_hand(kind, edit, address):
    model, plain = pair(kind)
    x = torch.randn(5, 3)
    with cut.patch(model, {address: edit}):
        edited = model(x)
        edited.square().sum().backward()
    by_hand = (lambda h: h * h) if callable(edit) else (lambda h: torch.ones(5, 3))
    layer = getattr(plain, address[0])
    if address.endswith(".input"):
        layer.register_forward_pre_hook(lambda _, args: by_hand(args[0]))
    else:
        layer.register_forward_hook(lambda _, args, out: by_hand(out))
    expected = plain(x)
    assert torch.equal(edited, expected)
    if expected.requires_grad:
        expected.square().sum().backward()
    assert_same_gradients(model, plain)
    assert_nothing_left(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", [lambda h: 2 * h, torch.ones(3)], ids=["function", "constant"])
@pytest.mark.parametrize("address", ["a", "b", "c", "b.input"])
def test_a_patch_closed_before_backward_makes_it_raise(kind, edit, address):
    model = kind()
    with cut.patch(model, {address: edit}):
        loss = model(torch.randn(5, 3)).square().sum()
    with pytest.raises(ValueError, match=CLOSED):
        loss.backward()
    assert_nothing_left(model)


def test_another_patch_open_during_backward_changes_nothing():
    model, plain = pair(Checkpointed)
    x = torch.randn(5, 3)
    loss = model(x).sum()
    with cut.patch(model, {"b": 0.0}), cut.trace(model, "b", gradients=True) as seen:
        model(x)
        loss.backward()
    plain(x).sum().backward()
    assert_same_gradients(model, plain)
    assert len(seen.calls["b"]) == 1


def test_patches_are_replayed_in_the_order_of_opening():
    model, x = Checkpointed(), torch.randn(5, 3)
    first = cut.patch(model, {"b": lambda h: h + 1})
    second = cut.patch(model, {"a": lambda h: h * h, "b": lambda h: 3 * h})  # meets the checkpoint first
    with first, second:
        model(x).sum().backward()
    plain = Layers()
    plain.load_state_dict(model.state_dict())
    plain.a.register_forward_hook(lambda _, args, h: h * h)
    plain.b.register_forward_hook(lambda _, args, h: 3 * (h + 1))
    plain(x).sum().backward()
    assert_same_gradients(model, plain)


@pytest.mark.parametrize("kind", KINDS)
def test_backward_may_run_in_another_thread_as_accelerators_do(kind):
    model, plain = pair(kind)
    x = torch.randn(5, 3)
    with cut.patch(model, {"b": lambda h: h * h}):
        loss = model(x).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join(30)
    plain.b.register_forward_hook(lambda _, args, h: h * h)
    plain(x).sum().backward()
    assert_same_gradients(model, plain)


def test_a_patch_outside_the_checkpoint_may_be_closed():
    outer = nn.Sequential(Checkpointed(), nn.Linear(3, 2))
    with cut.patch(outer, {"1": lambda y: 2 * y}), cut.trace(outer, "0.b"):
        loss = outer(torch.randn(5, 3)).sum()
    loss.backward()
    assert outer[0].b.weight.grad is not None


class CheckpointedSum(nn.Module):
    """A block with a fused and a written-out path in a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.block = ThreeSum()

    def forward(self, x):
        return checkpoint(lambda x: self.block(x * x) ** 2, x, use_reentrant=False)


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward after"])
def test_both_runs_of_a_block_take_the_same_path(gradients, inside):
    model, x = CheckpointedSum(), TELLING.sqrt().nan_to_num(1.0).requires_grad_()
    with cut.trace(model, "block.partial", gradients=gradients) as seen:
        loss = model(x)
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    assert len(seen.calls["block.partial"]) == 1
    free = x.detach().clone().requires_grad_()
    (ThreeSum()(free * free) ** 2).backward()
    torch.testing.assert_close(x.grad, free.grad)
    assert_nothing_left(model)


class TappedSquare(nn.Module):
    """A read computes something beside the output that saves tensors of its own for backward."""

    def __init__(self) -> None:
        super().__init__()
        self.block = ThreeSum()
        self.layer = nn.Linear(3, 3)

    def compute(self, x):
        h = self.layer(x)
        if self.block.partial.live:
            self.block.partial(h.exp() * h)
        return h.square()

    def forward(self, x):
        return checkpoint(self.compute, x, use_reentrant=False)


def test_a_read_that_saves_tensors_may_be_closed_before_backward():
    model, x = TappedSquare(), torch.randn(5, 3)
    model(x).sum().backward()
    expected = model.layer.weight.grad.clone()
    model.zero_grad()
    with cut.trace(model, "block.partial") as seen:
        loss = model(x).sum()
    loss.backward()
    assert torch.equal(model.layer.weight.grad, expected)
    assert len(seen.calls["block.partial"]) == 1
    model.zero_grad()
    loss = model(x).sum()
    with cut.trace(model, "block.partial"):  # opened only for backward: the recomputation must not notice
        loss.backward()
        model(x)
    assert torch.equal(model.layer.weight.grad, expected)


def test_the_reentrant_kind_is_refused_for_patches():
    model = Reentrant()
    message = (
        "a patch must not act inside a torch.autograd.Function, whose backward may compute the value again without it, "
        "got CheckpointFunction around 'b'; with activation checkpointing pass use_reentrant=False"
    )
    with pytest.raises(ValueError, match=message), cut.patch(model, {"b": 0.0}):
        model(torch.randn(5, 3, requires_grad=True))
    assert_nothing_left(model)


def test_the_reentrant_kind_has_no_gradients_and_says_so():
    model = Reentrant()
    with cut.trace(model, "b", gradients=True) as seen:
        model(torch.randn(5, 3, requires_grad=True)).sum().backward()
    message = (
        "got 'b' inside CheckpointFunction, a torch.autograd.Function; with activation checkpointing pass use_reent"
    )
    with pytest.raises(ValueError, match=message):
        seen.gradient["b"]


def test_a_patch_under_no_grad_needs_no_backward():
    model, plain = pair(Checkpointed)
    x = torch.randn(5, 3)
    with torch.no_grad(), cut.patch(model, {"b": 0.0}):
        edited = model(x)
    assert torch.equal(edited, plain.c(torch.zeros(5, 3)))


def test_nothing_is_held_by_a_checkpoint_that_never_runs_again():
    model = Checkpointed()
    with cut.trace(model, "b", gradients=True) as seen:
        loss = model(torch.randn(5, 3)).sum()
    held = weakref.ref(seen["b"])
    del seen, loss
    gc.collect()
    assert held() is None
