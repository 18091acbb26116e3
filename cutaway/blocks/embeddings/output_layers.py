r"""Output layers: from a vector z to a probability for each of many classes; the full softmax is the exact one.

    log p(c | z) = s_c − log Σ_c′ exp(s_c′)         full softmax, s = z Wᵀ + b
    loss = mean over examples of −log p(y | z)      the objective of some layers differs: their files say how

Row c of W is the vector of class c, so s_c is a similarity: the class whose vector points along z is the likeliest. W
has the shape of an embedding's table, and may be one: ``output.weight = embedding.weight`` ties the two (Press, Wolf
2017). The full softmax costs a product with every class. The layers of hierarchical.py and sampled.py train for less,
and all of them are used alike:

    layer.loss(z, targets, generator=None)      one number to train on; `losses`: one for each example
    layer.log_probabilities(z)                  (…, classes)
    layer.top(z, k)                             the k likeliest classes, likeliest first

Bridle 1990 (softmax). Notes: N3 §4.3–4.4.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_items, expect_positive, expect_width, flat_targets
from cutaway.blocks.losses.linear_cross_entropy import linear_cross_entropy, score_losses
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class Top(NamedTuple):
    """The likeliest classes, likeliest first, in the order of torch.topk: log-probabilities, then class numbers."""

    values: Tensor
    indices: Tensor


class OutputLayer(nn.Module, ABC):
    """What every output layer for many classes offers: ``loss``, ``losses``, ``log_probabilities`` and ``top``.

    ``generator`` is the source of random numbers of the layers that sample; the others need none.
    """

    width: int
    classes: int

    @abstractmethod
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        """The loss of each example."""

    @abstractmethod
    def log_probabilities(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        """log p(c | z) of every class c."""

    def loss(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, ""]:
        """The mean loss of the examples."""
        expect_items("targets", targets)
        return self.losses(z, targets, generator).mean()

    def top(self, z: Float[Tensor, "*b w"], k: int) -> Top:
        """The ``k`` likeliest classes: their log-probabilities and their numbers, likeliest first."""
        expect_count(k, self.classes)
        return Top(*self.log_probabilities(z).topk(k, -1))

    @override
    def forward(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        return self.log_probabilities(z)

    @override
    def extra_repr(self) -> str:
        return f"{self.width} → {self.classes:,}"


class ClassVectors(OutputLayer):
    """An output layer with a vector and a bias for each class: s_c = z·w_c + b_c. Tap: ``scores``."""

    lookup_tables = ("weight",)  # for optimizers and initialisers

    def __init__(self, width: int, classes: int, bias: bool = True, sparse: bool = False) -> None:
        super().__init__()
        expect_positive(width=width, classes=classes)
        self.width, self.classes, self.sparse = width, classes, sparse
        self.weight = nn.Parameter(torch.empty(classes, width))
        self.bias = nn.Parameter(torch.empty(classes)) if bias else None
        self.scores = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.width)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def logits(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        """s_c = z·w_c + b_c of every class."""
        expect_vectors(z, self.width)
        s = nn.functional.linear(z, self.weight, self.bias)
        if self.scores.live:
            s = self.scores(s)
        return s

    @override
    def log_probabilities(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        return log_softmax(self.logits(z))


class FullSoftmax(ClassVectors):
    r"""The softmax over all classes: exact, at the cost of a product with every class.

        L = −log p(y | z) = log Σ_c exp(s_c) − s_y
        s = z Wᵀ + b

    Tied with an embedding of the same width:

    >>> from cutaway.blocks import Embedding
    >>> embedding, output = Embedding(7, 3), FullSoftmax(3, 7, bias=False)
    >>> output.weight = embedding.weight
    >>> output(embedding(torch.tensor([4, 2]))).shape
    torch.Size([2, 7])

    Tap: ``scores`` (s).
    """

    def __init__(self, width: int, classes: int, bias: bool = True) -> None:
        super().__init__(width, classes, bias)

    @override
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        expect_vectors(z, self.width)
        if self.scores.edited:
            flat_targets(z, targets, self.classes)
            return score_losses(self.logits(z), targets).to(z.dtype)
        if self.scores.live:
            self.logits(z)  # beside: looking does not change the losses by a bit
        return linear_cross_entropy(z, self.weight, targets, self.bias).to(z.dtype)


def row_scores(
    z: Float[Tensor, "b w"],
    weight: Float[Tensor, "c w"],
    bias: Float[Tensor, "c"] | None,
    rows: Integer[Tensor, "b n"],
    sparse: bool = False,
) -> Float[Tensor, "b n"]:
    """s_bn = z_b·w_r + b_r for the rows r = r_bn alone; with ``sparse``, gradients that hold these rows alone."""
    if sparse:
        s = _SparseProducts.apply(z, weight, rows)
    else:
        s = (look_up(weight, rows) * z[:, None]).sum(-1)
    return s if bias is None else s + look_up(bias, rows, sparse)


def look_up(table: Float[Tensor, "c *w"], rows: Integer[Tensor, "*b"], sparse: bool = False) -> Float[Tensor, "..."]:
    """Rows of a table, or entries of a vector; with ``sparse``, a gradient that holds these rows alone."""
    if sparse:
        return _SparseLookup.apply(table, rows)
    return table.index_select(0, rows.flatten()).view(*rows.shape, *table.shape[1:])


class _SparseLookup(torch.autograd.Function):
    @override
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return look_up(table, rows)

    @override
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, δ: Tensor) -> tuple[Tensor, None]:
        return _rows_only(ctx.saved_tensors[0], δ.reshape(-1, *ctx.shape[1:]), ctx.shape), None


class _SparseProducts(torch.autograd.Function):
    """z_b·w_r with its backward written out: one product for z, and the touched rows of W alone."""

    @override
    @staticmethod
    def forward(ctx: Any, z: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
        picked = look_up(weight, rows)
        ctx.save_for_backward(z, picked, rows)
        ctx.shape = weight.shape
        return (picked * z[:, None]).sum(-1)

    @override
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, δ: Tensor) -> tuple[Tensor, Tensor, None]:
        z, picked, rows = ctx.saved_tensors
        to_rows = (δ[..., None] * z[:, None]).flatten(0, 1)
        return torch.bmm(δ[:, None], picked)[:, 0], _rows_only(rows, to_rows, ctx.shape), None


def _rows_only(rows: Tensor, values: Tensor, shape: torch.Size) -> Tensor:
    return torch.sparse_coo_tensor(rows.reshape(1, -1), values, shape, check_invariants=False)


def log_softmax(s: Float[Tensor, "*b c"]) -> Float[Tensor, "*b c"]:
    """log softmax(s)_c = s_c − log Σ_c′ exp(s_c′); half precision is computed in float32."""
    return in_float32(s).log_softmax(-1).to(s.dtype)


def in_float32(x: Tensor) -> Tensor:
    """Half precision as float32, all else as it is: logarithms and sums of probabilities need the digits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def expect_vectors(z: Tensor, width: int) -> None:
    """What goes into an output layer: vectors of its width."""
    expect_float("z", z)
    expect_width("z", z, width)


def expect_count(k: int, classes: int) -> None:
    """No more classes can be asked for than there are."""
    if not 1 <= k <= classes:
        raise ValueError(f"k must be from 1 to the number of classes, {classes}, got {k}; ask for fewer")


__all__ = ["ClassVectors", "FullSoftmax", "OutputLayer", "Top"]
