r"""DeepAR: an LSTM reads a series step by step and puts out the distribution of its next value.

    h_t, c_t = LSTM(x_t, h_{t−1}, c_{t−1}),    p(y_t | y_{<t}) = likelihood(h_t, x_t)

One model for many series, each in its own scale. Salinas et al. 2020; notes: N3 §5.3 (forecasting). What is ours:
see likelihood_model.py.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.blocks.recurrence.states import LSTMState
from cutaway.models.base import choose_spec
from cutaway.models.forecasting.likelihood_model import ForecastSpec, PredictiveModel
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class DeepARSpec(ForecastSpec):
    """A recurrent forecaster: ``depth`` layers of ``width`` units."""

    model: ClassVar[str] = "DeepAR"


class DeepAR(PredictiveModel):
    r"""Distributions of the next value of each series, by an LSTM.

        h_t, c_t = LSTM(x_t, h_{t−1}, c_{t−1}),    p(y_t | y_{<t}) = likelihood(h_t, x_t)

    ``DeepAR(lags=(1, 2, 12, 13), seasons=(12,), …)``; ``model(window)`` gives a likelihood, ``sample_paths`` forecasts.
    """

    kind: ClassVar[type[NamedSpec]] = DeepARSpec
    recurrent_layers: ClassVar[dict[str, str]] = {"recurrence": "steps"}
    spec: DeepARSpec

    def __init__(self, spec: DeepARSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, DeepARSpec))
        own = self.spec
        self.recurrence = LSTM(own.inputs, own.width, own.depth, dropout=own.dropout if own.depth > 1 else 0.0)
        self.reset_output()

    @override
    def network(self, x: Float[Tensor, "b t i"]) -> tuple[Float[Tensor, "b t w"], LSTMState]:
        return self.recurrence(x)

    @override
    def network_step(self, x: Float[Tensor, "b i"], state: Any) -> tuple[Float[Tensor, "b w"], Any]:
        return self.recurrence.step(x, state)

    @override
    def fork_state(self, state: Any, copies: int, steps: int) -> LSTMState:
        return LSTMState(*(part.repeat_interleave(copies, 0) for part in state))


__all__ = ["DeepAR", "DeepARSpec"]
