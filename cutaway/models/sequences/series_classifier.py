r"""`SeriesClassifier` gives a whole series one class, by convolutions over time or by a recurrent net.

    conv     x ← ReLU(norm(conv(x)))  depth times;  z = mean_t x_t                  Wang, Yan, Oates 2017 (FCN)
    rnn      h = BiLSTM(x);  z = [mean_t h_t, max_t h_t]
             logits = z W + b

With "conv" the logits are a mean over time of (x_t W + b): `evidence` returns these terms, so that one sees which part
of a series speaks for which class (class activation maps, Zhou et al. 2016). Values are standardised by the mean and
spread of the training series, which the model keeps. Notes: N3 §5.1 (classification), §6.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.pooling import pool_max, pool_mean
from cutaway.blocks.checks import (
    Lengths,
    as_lengths,
    expect_choice,
    expect_positive,
    expect_probability,
    expect_width,
)
from cutaway.blocks.convolution.one_dimensional import Conv1d, step_mask
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

DESIGNS = ("conv", "rnn")
_KERNELS = (9, 5, 3)  # of the first, second and all further convolutions


@dataclass(frozen=True)
class SeriesClassifierSpec(NamedSpec):
    """How many channels go in and classes come out, and what is between."""

    model: ClassVar[str] = "SeriesClassifier"

    classes: int
    channels: int = 1
    design: str = "conv"  # conv | rnn
    width: int = 64  # filters of a convolution, or units of a direction
    depth: int = 3
    dropout: float = 0.0

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        Task("multi-class", self.classes)
        expect_positive(channels=self.channels, width=self.width, depth=self.depth)
        expect_choice("design", self.design, DESIGNS)
        expect_probability(dropout=self.dropout)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class ConvLayer(nn.Module):
    """x ← ReLU(norm(conv(x))): a convolution over time that keeps the length. Padding stays 0 and counts for nothing.

    Tap: ``output``.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.conv = Conv1d(inputs, outputs, kernel, bias=False)
        self.norm = BatchNorm(outputs)
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "b t i"], lengths: Int[Tensor, "b"] | None = None) -> Float[Tensor, "b t o"]:
        x = self.conv(x, lengths)
        if lengths is None:
            x = self.norm(x).relu()
        else:  # the statistics are those of real steps
            real = step_mask(lengths, x.shape[1])
            y = torch.zeros_like(x)
            y[real] = self.norm(x[real]).relu()
            x = y
        if self.output.live:
            x = self.output(x)
        return x


class SeriesClassifier(Model):
    """logits = model(values, lengths) of series (batch, steps, channels). Tap: ``pooled`` (z)."""

    kind: ClassVar[type[NamedSpec]] = SeriesClassifierSpec
    spec: SeriesClassifierSpec
    mean: Tensor
    spread: Tensor

    def __init__(self, spec: SeriesClassifierSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, SeriesClassifierSpec))
        spec = self.spec
        self.register_buffer("mean", torch.zeros(spec.channels))
        self.register_buffer("spread", torch.ones(spec.channels))
        if spec.design == "conv":
            widths = [spec.channels, *[spec.width * (2 if 0 < i < spec.depth - 1 else 1) for i in range(spec.depth)]]
            kernels = [_KERNELS[min(i, 2)] for i in range(spec.depth)]
            self.layers = nn.ModuleList(map(ConvLayer, widths, widths[1:], kernels))
            pooled = widths[-1]
        else:
            self.lstm = LSTM(spec.channels, spec.width, spec.depth, bidirectional=True, dropout=spec.dropout)
            pooled = 4 * spec.width
        self.pooled = Tap()
        self.head = Head(pooled, Task("multi-class", spec.classes))

    @property
    def recurrent_layers(self) -> dict[str, str]:
        """Where its gates are, if it has any, and what their steps are."""
        return {"lstm": "steps"} if self.spec.design == "rnn" else {}

    @override
    def forward(self, values: Float[Tensor, "b t c"], lengths: Lengths | None = None) -> Float[Tensor, "b classes"]:
        """``lengths`` says how many steps of each series are real."""
        lengths = (
            None if lengths is None else as_lengths(lengths, values.shape[:1], values.shape[1], 1).to(values.device)
        )
        x = self.features(values, lengths)
        mask = None if lengths is None else step_mask(lengths, x.shape[1])
        z = pool_mean(x, mask)
        if self.spec.design == "rnn":
            z = torch.cat([z, pool_max(x, mask)], -1)
        if self.pooled.live:
            z = self.pooled(z)
        return self.head(drop(z, self.spec.dropout, self.training))

    def features(self, values: Float[Tensor, "b t c"], lengths: Lengths | None = None) -> Float[Tensor, "b t w"]:
        """What is known at every step, before pooling."""
        expect_width("values", values, self.spec.channels)
        x = (values - self.mean) / self.spread
        if self.spec.design == "rnn":
            return self.lstm(x, lengths=lengths)[0]
        for layer in self.layers:
            x = layer(x, lengths)
        return x

    def evidence(self, values: Float[Tensor, "b t c"], lengths: Lengths | None = None) -> Float[Tensor, "b t classes"]:
        """What each step adds to each class: x_t W + b, whose mean over the real steps is the logits."""
        if self.spec.design != "conv":
            raise ValueError(
                f"evidence by step needs convolutions and a mean over time, got design={self.spec.design!r}; "
                "look at gradients instead"
            )
        return self.head(self.features(values, lengths))

    @torch.no_grad()
    def set_scale(self, values: Float[Tensor, "n t c"], lengths: Lengths) -> None:
        """Takes mean and spread of every channel from the training series; a constant one keeps spread 1."""
        lengths = as_lengths(lengths, values.shape[:1], values.shape[1], 1)
        real = values[step_mask(lengths, values.shape[1])].double()
        spread = real.std(0, correction=0)
        self.mean.copy_(real.mean(0))
        self.spread.copy_(torch.where(spread > 0, spread, 1.0))


__all__ = ["ConvLayer", "SeriesClassifier", "SeriesClassifierSpec"]
