r"""Affine maps and dense layers: a weighted sum of the inputs for every output.

    y = x W + b                 linear layer
    y = φ(x W + b)              dense layer, φ entry by entry

Rows are vectors and W has shape (inputs, outputs). N0 writes columns, A x + b with A = Wᵀ; torch.nn.Linear stores Wᵀ.
Rosenblatt 1958; Goodfellow, Bengio, Courville 2016, §6. Notes: N0 §1, N3 §2.2–2.4. Axis letters: docs/notation.md.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def linear(
    x: Float[Tensor, "*b i"], weight: Float[Tensor, "i o"], bias: Float[Tensor, "o"] | None = None
) -> Float[Tensor, "*b o"]:
    """y = x W + b.

    >>> linear(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, -1.0]]))
    tensor([1., 2., 1.])
    """
    expect_float("x", x)
    expect_width("x", x, weight.shape[0])
    if x.numel() == x.shape[-1] and x.dtype == weight.dtype:  # autocast knows the other kernel only
        # One row, as when decoding a token: the kernel for vectors reads W once, at the speed of memory.
        row = x.reshape(-1)
        y = torch.mv(weight.T, row) if bias is None else torch.addmv(bias, weight.T, row)
        return y.view(*x.shape[:-1], weight.shape[1])
    return nn.functional.linear(x, weight.T, bias)


class Linear(nn.Module):
    """The affine map y = x W + b that owns its weights, drawn from U(−1/√i, 1/√i) as torch.nn.Linear does."""

    linear_maps = {"weight": -1}  # for optimizers and initialisers: the matrix, and the axis of its outputs

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs)
        self.inputs, self.outputs = inputs, outputs
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.inputs)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        return linear(x, self.weight, self.bias)

    def equation(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        """x W + b; of one vector by the kernel for vectors."""
        weight, bias = self.weight, self.bias
        if x.ndim > 1:
            return linear(x, weight, bias)
        return torch.mv(weight.T, x) if bias is None else torch.addmv(bias, weight.T, x)

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.outputs}" + ("" if self.bias is not None else ", no bias")


class Dense(nn.Module):
    """A dense layer, y = φ(x W + b). Taps: ``sums`` (the weighted sums s = x W + b) and ``output``.

    ``activation`` is a function or module φ, or None for the identity.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable[[Tensor], Tensor] | None = torch.relu,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs, bias)
        self.activation = activation
        self.sums = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        s = self.linear(x)
        if self.sums.live:
            s = self.sums(s)
        y = s if self.activation is None else self.activation(s)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        if self.activation is None or isinstance(self.activation, nn.Module):
            return ""
        return f"activation={getattr(self.activation, '__name__', self.activation)}"
