r"""The cross entropy of linear scores, as of the words of a vocabulary, without the scores as a value of their own.

    s_n = z_n Eᵀ + b                            a score for each class, E has a row for each
    ℓ_n = log Σ_v exp(s_nv) − s_n,y             y: the right class
    ∂ℓ_n/∂s_n = softmax(s_n) − onehot(y)        so ∂ℓ/∂z = (p − onehot) E,  ∂ℓ/∂E = (p − onehot)ᵀ z

Of 50,257 classes the scores are the largest value of a step by far. Written out they are held four times: s, log p, and
their gradients. The fused path holds them once, in a block of memory in which s becomes p − onehot(y) row by row, while
the rows are in the processor's cache; without gradients it holds a part of them at a time. Rows are padded to whole
cache lines, which makes the product with E a quarter faster where v is odd.

The same idea: torch.nn.functional.linear_cross_entropy (chunks), Wijmans et al. 2024. Notes: N3 §4.3.
"""

from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from cutaway.blocks.checks import expect_width, flat_targets

_FEW = 2**22  # scores up to which nothing is gained
_HELD = 2**24  # scores that are held at once without gradients
_CACHED = 2**20  # scores that a processor keeps near
_LINE = 64  # scores that rows are padded to a multiple of


def linear_cross_entropy(
    z: Float[Tensor, "*b w"],
    table: Float[Tensor, "v w"],
    targets: Integer[Tensor, "*b"],
    bias: Float[Tensor, "v"] | None = None,
) -> Float[Tensor, "*b"]:
    """ℓ_n = −log softmax(z_n Eᵀ + b)_y for each n; ``table`` is E. The fused path, where there are many scores.

    >>> z, table = torch.zeros(2, 3), torch.randn(5, 3)
    >>> linear_cross_entropy(z, table, torch.tensor([0, 4]))  # no preference: log 5
    tensor([1.6094, 1.6094])
    """
    expect_width("z", z, table.shape[1])
    right = flat_targets(z, targets, len(table))
    if not _may_fuse(z, table, bias):
        return linear_cross_entropy_open(z, table, targets, bias)
    rows = z.reshape(-1, z.shape[-1])
    learns = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (z, table, bias))
    losses = _losses_and_slopes(rows, table, right, bias)[0] if learns else _losses(rows, table, right, bias)
    return losses.view(targets.shape)


def linear_cross_entropy_open(
    z: Float[Tensor, "*b w"],
    table: Float[Tensor, "v w"],
    targets: Integer[Tensor, "*b"],
    bias: Float[Tensor, "v"] | None = None,
) -> Float[Tensor, "*b"]:
    """The same, written out: the scores, then their cross entropy."""
    return score_losses(nn.functional.linear(z, table, bias), targets)


def score_losses(scores: Float[Tensor, "*b v"], targets: Integer[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """ℓ_n = −log softmax(s_n)_y, in float32 at least."""
    wide = scores.reshape(-1, scores.shape[-1]).to(torch.promote_types(scores.dtype, torch.float32))
    return nn.functional.cross_entropy(wide, targets.reshape(-1).long(), reduction="none").view(targets.shape)


def _may_fuse(z: Tensor, table: Tensor, bias: Tensor | None) -> bool:
    """On a CPU, in one plain precision, where the scores are many; torch.func's transforms need the equation."""
    if z.numel() // z.shape[-1] * len(table) < _FEW:
        return False
    kinds = {(x.dtype, x.device.type) for x in (z, table, bias) if x is not None}
    return (
        kinds in ({(torch.float32, "cpu")}, {(torch.float64, "cpu")})
        and not torch.is_autocast_enabled("cpu")
        and torch._C._functorch.peek_interpreter_stack() is None
    )


@torch.library.custom_op("cutaway::linear_cross_entropy", mutates_args=())
def _losses(z: Tensor, table: Tensor, targets: Tensor, bias: Tensor | None) -> Tensor:
    """The losses alone, some rows at a time."""
    losses = z.new_empty(len(z))
    together = max(1, _HELD // len(table))
    for part, some, right in zip(losses.split(together), z.split(together), targets.split(together), strict=True):
        _turn_into_slopes(nn.functional.linear(some, table, bias), right, part)
    return losses


@_losses.register_fake
def _(z: Tensor, table: Tensor, targets: Tensor, bias: Tensor | None) -> Tensor:
    return z.new_empty(len(z))


@torch.library.custom_op("cutaway::linear_cross_entropy_slopes", mutates_args=())
def _losses_and_slopes(z: Tensor, table: Tensor, targets: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """The losses, and p − onehot(y) in rows that are padded."""
    padded = z.new_empty(len(z), _padded(len(table)))
    scores, losses = padded[:, : len(table)], z.new_empty(len(z))
    torch.mm(z, table.T, out=scores)
    together = max(1, _CACHED // len(table))
    for part, some, right in zip(losses.split(together), scores.split(together), targets.split(together), strict=True):
        _turn_into_slopes(some if bias is None else some.add_(bias), right, part)
    return losses, padded


@_losses_and_slopes.register_fake
def _(z: Tensor, table: Tensor, targets: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    return z.new_empty(len(z)), z.new_empty(len(z), _padded(len(table)))


def _padded(classes: int) -> int:
    return -(-classes // _LINE) * _LINE


def _turn_into_slopes(scores: Tensor, targets: Tensor, losses: Tensor) -> None:
    """s becomes softmax(s) − onehot(y), and the losses are filled in: both in place."""
    own = targets[:, None]
    scores.sub_(scores.amax(1, keepdim=True))
    right = scores.gather(1, own)
    total = scores.exp_().sum(1, keepdim=True)
    losses.copy_((total.log() - right)[:, 0])
    scores.div_(total).scatter_add_(1, own, scores.new_full((), -1.0).expand(own.shape))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, output[1])
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, delta: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    z, table, targets, bias, padded = ctx.saved_tensors
    if torch.is_grad_enabled():  # somebody differentiates again
        slopes = nn.functional.linear(z, table, bias).softmax(-1) - nn.functional.one_hot(targets, len(table))
    else:
        slopes = padded[:, : len(table)]
    delta = delta[:, None]
    return (
        delta * (slopes @ table) if ctx.needs_input_grad[0] else None,
        slopes.T @ (delta * z) if ctx.needs_input_grad[1] else None,
        None,
        (slopes.T @ delta)[:, 0] if ctx.needs_input_grad[3] else None,
    )


_losses_and_slopes.register_autograd(_backward, setup_context=_remember)
