r"""Forecaster: a decoder-only transformer over the steps of a series, each seeing those before it.

    h = W x + b;   h ← h + attention(norm(h));  h ← h + mlp(norm(h))   depth times, causal, rotary positions
    p(y_t | y_{<t}) = likelihood(norm(h_t), x_t)

The same inputs, likelihoods and sampling as DeepAR, with attention in place of the recurrence; drawn values are added
to a key–value cache. Vaswani et al. 2017; for series: Li et al. 2019, Rasul et al. 2023 (Lag-Llama).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.attention.caches import Cache
from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.transformer_layers import EncoderLayer
from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.dense.mlps import MLP
from cutaway.blocks.norms.rms import RMSNorm
from cutaway.blocks.positions.rotary import Rotary
from cutaway.models.base import choose_spec
from cutaway.models.forecasting.likelihood_model import ForecastSpec, PredictiveModel
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import Prepare, initialise_transformer
from cutaway.overriding import override


@dataclass(frozen=True)
class ForecasterSpec(ForecastSpec):
    """A decoder-only transformer: ``depth`` layers of ``width``, with ``heads`` attentions side by side."""

    model: ClassVar[str] = "Forecaster"
    heads: int = 4

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(heads=self.heads)
        if self.width % self.heads or self.width // self.heads % 2:
            raise ValueError(
                f"width must be an even multiple of heads, got width={self.width}, heads={self.heads}; "
                f"try width={2 * self.heads * max(1, round(self.width / (2 * self.heads)))}"
            )


class Forecaster(PredictiveModel):
    r"""Distributions of the next value of each series, by a causal transformer.

        h = W x + b;   h ← h + attention(norm(h));  h ← h + mlp(norm(h));   p(y_t | y_{<t}) = likelihood(norm(h_t), x_t)

    ``model(window)`` gives a likelihood, ``sample_paths`` forecasts.
    """

    kind: ClassVar[type[NamedSpec]] = ForecasterSpec
    spec: ForecasterSpec

    def __init__(self, spec: ForecasterSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, ForecasterSpec))
        own = self.spec
        self.map_inputs = Linear(own.inputs, own.width)
        self.blocks = nn.ModuleList(self._layer() for _ in range(own.depth))
        self.norm = RMSNorm(own.width)
        initialise_transformer(self, own.depth, 0.08)
        self.reset_output()

    def _layer(self) -> EncoderLayer:
        own = self.spec
        prepare = Prepare(None, None, Rotary(own.width // own.heads))
        attention = MultiHeadAttention(own.width, own.heads, prepare=prepare)
        return EncoderLayer(attention, MLP(own.width, 2 * own.width), lambda: RMSNorm(own.width), dropout=own.dropout)

    @override
    def network(self, x: Float[Tensor, "b t i"]) -> tuple[Float[Tensor, "b t w"], Tensor]:
        return self._blocks(x, None), x  # its state is what it has read

    @override
    def network_step(self, x: Float[Tensor, "b i"], state: Any) -> tuple[Float[Tensor, "b w"], Any]:
        return self._blocks(x[:, None], state)[:, 0], state

    @override
    def fork_state(self, state: Any, copies: int, steps: int) -> Cache:
        """The keys and values of the inputs that were read, in a cache with room for more."""
        own = self.spec
        rows, read = state.shape[:2]
        cache = Cache(own.depth, rows, own.heads, read + steps, own.width // own.heads, state)
        self._blocks(state, cache)
        return cache.fork(copies)

    def _blocks(self, x: Tensor, cache: Cache | None) -> Tensor:
        h = self.map_inputs(x)
        for i, block in enumerate(self.blocks):
            h = block(h, cache=None if cache is None else cache.layers[i], causal=True)
        return self.norm(h)


__all__ = ["Forecaster", "ForecasterSpec"]
