r"""Softmax turns scores into probabilities, one for each class; hard argmax picks the largest, as a one-hot vector.

    S(η)_c = exp(η_c) / Σ_c′ exp(η_c′)        softmax: a probability for each class
    S(η / T)                                  temperature T: → uniform as T → ∞, → the one-hot of the largest as T → 0
    ŷ = S((x W + b) / T)                      softmax layer

Softmax depends on differences only, S(η + a) = S(η), so the largest entry is subtracted before exp: no overflow.
Boltzmann 1868; Bridle 1990. Notes: N0 §2.1 (Lemma 2.1, "softargmax would be more fitting"), N3 §2.4.6–2.4.7.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_axis, expect_float
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.dense.neurons import straight_through
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def _expect_temperature(temperature: float) -> None:
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}; its limit at 0 is hard_argmax")


def softmax(x: Float[Tensor, "*s"], temperature: float = 1.0, axis: int = -1) -> Float[Tensor, "*s"]:
    r"""Probabilities that exaggerate the differences of x, the more the lower the temperature T.

        S(x/T)_c = exp(x_c/T) / Σ_c′ exp(x_c′/T)

    The sum runs along ``axis``. Half precision is computed in float32.

    >>> softmax(torch.tensor([3.0, 0.0, 1.0]))
    tensor([0.8438, 0.0420, 0.1142])
    >>> softmax(torch.tensor([3.0, 0.0, 1.0]), temperature=0.1)  # spiky
    tensor([1.0000e+00, 9.3576e-14, 2.0612e-09])
    """
    _expect_temperature(temperature)
    expect_float("x", x)
    expect_axis("x", x, axis)
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if temperature != 1:
        # largest first to 0, then divide: the quotient of a small T must not overflow
        z = (z - z.detach().amax(axis, keepdim=True)) / temperature
    return torch.softmax(z, axis).to(x.dtype)


def hard_argmax(x: Float[Tensor, "*s"], axis: int = -1) -> Float[Tensor, "*s"]:
    r"""The one-hot vector of the largest entry, of the first among equals.

        y_c = 1 if c = argmax x else 0

    A step has no slope, so it goes backward as softmax does (straight through, Bengio, Léonard, Courville 2013).

    >>> hard_argmax(torch.tensor([3.0, 0.0, 3.0]))
    tensor([1., 0., 0.])
    """
    soft = softmax(x, axis=axis)
    hard = torch.zeros_like(x).scatter(axis, x.argmax(axis, keepdim=True), 1.0)
    return straight_through(hard, soft)


class SoftmaxLayer(nn.Module):
    r"""A softmax layer gives a probability for each class; alone, it is multinomial logistic regression.

        ŷ = S((x W + b) / T)

    Taps: ``logits`` (x W + b) and ``output`` (ŷ). Train it on ``layer.linear(x) / T``, since log losses are stable on
    logits only. Cox 1966. Notes: N3 §2.4.7.
    """

    output_layers = ("linear",)

    def __init__(self, inputs: int, outputs: int, temperature: float = 1.0, bias: bool = True) -> None:
        super().__init__()
        _expect_temperature(temperature)
        self.linear = Linear(inputs, outputs, bias)
        self.temperature = temperature
        self.logits = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        η = self.linear(x)
        if self.logits.live:
            η = self.logits(η)
        y = softmax(η, self.temperature)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"temperature={self.temperature:g}"
