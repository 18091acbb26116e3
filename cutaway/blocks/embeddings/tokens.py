r"""Embedding: a vector for every category.

    emb(v) = e_v E = row v of E             e_v: one-hot

A lookup replaces the product with a one-hot vector: the same result without the multiplications by zero. Tied with an
output layer, logits = x Eᵀ compares x with every category (Press, Wolf 2017).
Bengio et al. 2003. Notes: N3 §4.1, §4.3.
"""

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def one_hot(tokens: Integer[Tensor, "*b"], classes: int) -> Integer[Tensor, "*b c"]:
    """The one-hot vector of each token: (e_v)_c = 1 if c = v else 0.

    ``one_hot(tokens, v).to(table) @ table`` equals ``embed(tokens, table)``. The product costs v · w
    multiplications for each token, of which all but w are by 0; the lookup costs none.

    >>> one_hot(torch.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    expect_positive(classes=classes)
    if not torch.compiler.is_compiling() and tokens.device.type == "cpu" and tokens.numel():
        low, high = (int(end) for end in tokens.aminmax())
        if low < 0 or high >= classes:
            raise ValueError(
                f"tokens must lie from 0 to {classes - 1}, got {low if low < 0 else high}; count all classes"
            )
    return (tokens[..., None] == torch.arange(classes, device=tokens.device)).long()


def embed(tokens: Integer[Tensor, "*b"], table: Float[Tensor, "v w"]) -> Float[Tensor, "*b w"]:
    """Row v of the table for each token v: y = e_v E.

    >>> embed(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise ValueError(f"tokens must be integers, got {tokens.dtype}; convert them with tokens.long()")
    if tokens.dtype not in (torch.int64, torch.int32):
        tokens = tokens.long()  # the kernel knows no others
    try:
        return nn.functional.embedding(tokens, table)
    except IndexError:  # the CPU's kernel looks at every token anyway
        low, high = int(tokens.min()), int(tokens.max())
        raise ValueError(
            f"tokens must lie from 0 to {len(table) - 1}, got {low if low < 0 else high}; "
            "encode the text with the model's own tokenizer"
        ) from None


class Embedding(nn.Module):
    """emb(v) = row v of a learned matrix E, drawn from N(0, 1). Tap: ``output``."""

    lookup_tables = ("weight",)  # for optimizers and initialisers

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        expect_positive(vocabulary=vocabulary, width=width)
        self.vocabulary, self.width = vocabulary, width
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight)

    @override
    def forward(self, tokens: Integer[Tensor, "*b"]) -> Float[Tensor, "*b w"]:
        y = embed(tokens, self.weight)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"{self.vocabulary} × {self.width}"
