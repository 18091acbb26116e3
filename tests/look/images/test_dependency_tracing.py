"""Tracing through memory: what is overwritten, drawn, changed in place or taken out of torch."""

import pytest
import torch
from torch import Tensor

from cutaway.look.images.dependency_tracing import DependencyTrace


def read(function, x: Tensor) -> tuple[Tensor, tuple[str, ...]]:
    """Which outputs read which inputs, (outputs, inputs), and what is not known."""
    with torch.no_grad(), DependencyTrace(x) as trace:
        y = function(x.clone())
    wanted = torch.eye(y.numel(), dtype=torch.bool).view(-1, *y.shape)
    found = [trace.read_for(y, each) for each in wanted]
    return torch.stack([each.entries.flatten() for each in found]), found[0].unknown


def test_random_numbers_read_nothing_but_their_parameters():
    x = torch.rand(2, 3)
    found, unknown = read(lambda x: torch.rand_like(x) + torch.empty_like(x).uniform_() + x.clone().normal_(), x)
    assert not found.any()
    assert unknown == ()
    found, _ = read(torch.bernoulli, x)
    assert torch.equal(found, torch.eye(6, dtype=torch.bool))


def test_what_is_overwritten_is_not_read():
    def write(x: Tensor) -> Tensor:
        y = x * 2
        y[:, 1] = 0
        y[0].copy_(x[1])
        return y

    found, _ = read(write, torch.randn(2, 3))
    assert found.view(2, 3, 2, 3).nonzero().tolist() == [[0, i, 1, i] for i in range(3)] + [[1, 0, 1, 0], [1, 2, 1, 2]]


def test_a_shape_changed_in_place_later_does_not_matter():
    """`squeeze_` changes the tensor that an earlier step wrote."""
    found, unknown = read(lambda x: x.sum(1, keepdim=True).mul_(2).squeeze_(1), torch.randn(3, 2))
    assert found.tolist() == [
        [True] * 2 + [False] * 4,
        [False] * 2 + [True] * 2 + [False] * 2,
        [False] * 4 + [True] * 2,
    ]
    assert unknown == ()


def test_views_of_another_type_share_bytes():
    def swapped(x: Tensor) -> Tensor:
        halves = x.view(torch.int16)  # two of them are a float
        halves[0] = 0
        return x

    found, unknown = read(swapped, torch.randn(3))
    assert torch.equal(found, torch.eye(3, dtype=torch.bool))
    assert unknown == ()


def test_an_index_changed_after_it_was_used():
    def chosen(x: Tensor) -> Tensor:
        index = torch.tensor([2, 0])
        y = x[index]
        index.fill_(1)
        return y

    assert read(chosen, torch.randn(3))[0].nonzero().tolist() == [[0, 2], [1, 0]]


@torch.library.custom_op("cutaway_test::secret", mutates_args=())
def secret(x: Tensor) -> Tensor:
    return x.flip(0)


def test_operations_that_are_not_known_read_everything_and_are_named():
    found, unknown = read(lambda x: secret(x[1:]), torch.randn(4))
    assert found.tolist() == [[False, True, True, True]] * 3
    assert unknown == ("cutaway_test::secret",)


def test_what_is_not_known_beside_the_way_does_not_matter():
    def beside(x: Tensor) -> Tensor:
        secret(x)
        return x * 2

    found, unknown = read(beside, torch.randn(3))
    assert torch.equal(found, torch.eye(3, dtype=torch.bool))
    assert unknown == ()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x if x[0].item() > 0 else -x, "item"),
        (lambda x: x[int(x[0] > 0) :][:2], "item"),
        (lambda x: x + len(x.nonzero()), "nonzero"),
        (lambda x: torch.tensor(x.tolist()), "tolist"),
        (lambda x: torch.as_tensor(x.numpy() * 2), "numpy"),
        (lambda x: x * bool(torch.equal(x, x + 1)), "equal"),
    ],
)
def test_numbers_that_leave_torch_may_decide_anything(function, name):
    found, unknown = read(function, torch.randn(3))
    assert found.all()
    assert unknown == (name,)


def test_checks_do_not_decide():
    with torch.no_grad(), DependencyTrace(torch.eye(3)) as trace:
        torch._assert_async(trace.x[2, 2])
        y = trace.x[0] * 2
    found = trace.read_for(y, torch.ones(3, dtype=torch.bool))
    assert found.entries.nonzero()[:, 0].tolist() == [0, 0, 0]
    assert found.unknown == ()
