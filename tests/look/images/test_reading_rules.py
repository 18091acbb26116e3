"""Stand-ins of single functions: the pattern of their derivative, worked by hand or taken from the function itself."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cutaway.look.images.reading_rules import RULES, StandIns

F = nn.functional


def reads(function: Callable[[Tensor], Any], x: Tensor) -> Tensor:
    """Which outputs read which inputs, by the stand-in."""

    def run(v: Tensor) -> Tensor:
        with StandIns():
            y = function(v)
        return y if isinstance(y, Tensor) else y[0]

    return torch.autograd.functional.jacobian(run, x) > 0


FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "method": lambda x: x.sigmoid(),
    "product": lambda x: x * x.flip(0),
    "quotient": lambda x: x / (2 + x.flip(1).square()),
    "power": lambda x: x**3,
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, 0),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group norm": lambda x: F.group_norm(x[None], 2)[0],
    "instance norm": lambda x: F.instance_norm(x[None])[0],
    "batch norm in training": lambda x: F.batch_norm(x[None], None, None, training=True)[0],
    "normalise": lambda x: F.normalize(x, dim=0),
    "matrix product": lambda x: x @ x.mT,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "linear": lambda x: F.linear(x, torch.randn(3, 6)),
    "logsumexp": lambda x: x.logsumexp(0),
    "std": lambda x: x.std(1),
    "norm": lambda x: x.norm(dim=0),
    "cumprod": lambda x: x.cumprod(1),
    "where": lambda x: torch.where(torch.ones(6) > 0, x, x.flip(0)).float() * x.flip(0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_reads_what_the_true_derivative_touches(name: str):
    """At a generic point the true derivative is 0 only where nothing is read, up to chance."""
    torch.manual_seed(0)
    x = torch.rand(4, 6, dtype=torch.float64) + 0.5
    function = FUNCTIONS[name]
    if name in ("linear", "where"):
        torch.set_default_dtype(torch.float64)
    try:
        true = torch.autograd.functional.jacobian(function, x) != 0
        assert torch.equal(reads(function, x), true)
    finally:
        torch.set_default_dtype(torch.float32)


def test_relu_reads_negative_entries_too():
    x = torch.tensor([-1.0, 1.0])
    assert torch.equal(reads(F.relu, x), torch.eye(2, dtype=torch.bool))


def test_a_maximum_reads_all_that_it_chooses_from():
    x = torch.tensor([[1.0, 5.0], [2.0, 3.0]])
    assert reads(lambda v: v.max(1), x).flatten(1).tolist() == [[True, True, False, False], [False, False, True, True]]
    assert reads(lambda v: v.amax(), x).all()
    assert reads(lambda v: torch.max(v[0], v[1]), x).flatten(1).tolist() == [[True, False] * 2, [False, True] * 2]
    _, indices = F.max_pool1d(x, 2, return_indices=True)
    with StandIns():
        mean, same = F.max_pool1d(x, 2, return_indices=True)
    assert torch.equal(indices, same)
    assert mean.flatten().tolist() == [3, 2.5]


def test_masked_keys_are_not_read():
    q = torch.randn(3, 2)
    mask = torch.tensor([[True, False, True]]).expand(3, 3)
    found = reads(lambda k: F.scaled_dot_product_attention(q, k, k, attn_mask=mask), torch.randn(3, 2))
    assert found.any(1).any(2)[:, 0].all()
    assert not found[:, :, 1].any()


def test_numbers_without_a_gradient_are_computed_as_ever():
    with StandIns():
        assert torch.arange(3).clamp(max=1).tolist() == [0, 1, 1]
        assert (torch.arange(3) * 2).tolist() == [0, 2, 4]


def test_every_name_is_one_of_torchs():
    assert len(RULES) > 250
