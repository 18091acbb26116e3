r"""A stack of recurrent layers: each reads the hidden states of the one below it, in one direction or in both.

    Z¹ = cell₁(X),  Z² = cell₂(Z¹), …                one direction
    Zˡ = [→cellₗ(Zˡ⁻¹)  ←cellₗ(Zˡ⁻¹)]                 both, side by side: every step sees the whole sequence

El Hihi, Bengio 1995 (stacked); Schuster, Paliwal 1997 (bidirectional). Notes: N3 §5.1–5.2. Axis letters:
docs/notation.md.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import Lengths, as_lengths, expect_float, expect_positive, expect_probability, expect_width
from cutaway.blocks.depth.dropouts import fast_dropout
from cutaway.blocks.recurrence.cells import Cell
from cutaway.blocks.recurrence.states import State
from cutaway.blocks.recurrence.torch_layout import load_torch_weights, sizes_of_torch, torch_weights
from cutaway.overriding import override


class Recurrent(nn.Module):
    """What RNN, LSTM and GRU share: depth, directions, lengths and states. Families derive from it."""

    State: ClassVar[Any]  # the family's tuple
    torch_modes: ClassVar[dict[str, dict[str, Any]]]  # torch.nn's names of this family, and the options they stand for

    def __init__(
        self,
        make_cell: Callable[[int], Cell],
        inputs: int,
        width: int,
        depth: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        expect_positive(inputs=inputs, width=width, depth=depth)
        expect_probability(dropout=dropout)
        self.inputs, self.width, self.depth = inputs, width, depth
        self.bidirectional, self.dropout = bidirectional, dropout
        names = ("forwards", "backwards") if bidirectional else ("forwards",)
        self.layers = nn.ModuleList(
            nn.ModuleDict({name: make_cell(inputs if i == 0 else width * len(names)) for name in names})
            for i in range(depth)
        )

    @classmethod
    def from_torch(cls, module: nn.RNNBase) -> Any:
        """The same net as a module of torch.nn; ``load_torch_weights`` takes its state dict alone."""
        if module.mode not in cls.torch_modes:
            raise ValueError(
                f"{cls.__name__} is made from torch.nn.{cls.__name__}, got torch.nn.{type(module).__name__} "
                f"({module.mode}); use the class of that name"
            )
        layer = cls(**sizes_of_torch(module), **cls.torch_modes[module.mode])
        layer.to(next(module.parameters())).load_torch_weights(module.state_dict())
        return layer

    def load_torch_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copies the state dict of a torch.nn module of the same sizes into this layer."""
        load_torch_weights(self.layers, weights)

    def torch_weights(self) -> dict[str, Tensor]:
        """A state dict for the torch.nn module of the same sizes."""
        return torch_weights(self.layers)

    @property
    def cells(self) -> dict[str, Cell]:
        """Every cell by its address in this layer: ``layers.0.forwards`` and so on."""
        return {f"layers.{i}.{name}": cell for i, layer in enumerate(self.layers) for name, cell in layer.items()}  # type: ignore[operator]

    @property
    def directions(self) -> int:
        """1, or 2 for a bidirectional net."""
        return 2 if self.bidirectional else 1

    def initial_state(self, *batch: int) -> State:
        """The state before the first step: zeros."""
        like = self._like()
        shape = (*batch, self.depth, self.directions, self.width)
        return self.State(*(like.new_zeros(shape) for _ in self.State._fields))

    @override
    def forward(
        self,
        x: Float[Tensor, "*b t i"],
        state: State | None = None,
        lengths: Lengths | None = None,
    ) -> tuple[Float[Tensor, "*b t o"], State]:
        """The outputs of all steps, those of both directions side by side, and the state after the last one.

        ``lengths`` are the numbers of real steps where sequences are padded at their ends: each state is then the one
        at the sequence's own last step (for the way back: its first), and the outputs of padded steps are 0. A list or
        an array of whole numbers will do. An empty batch gives empty outputs; a sequence has at least one step.
        """
        expect_sequence(x, self.inputs)
        batch, steps = x.shape[:-2], x.shape[-2]
        if state is None:
            state = self.initial_state(*batch)
        else:
            self._expect_state(state, batch)
        if x.device.type != "meta" and torch.is_autocast_enabled(
            x.device.type
        ):  # a state in half precision would forget by rounding
            dtype = self._like().dtype
            with torch.autocast(x.device.type, enabled=False):
                return self.forward(x.to(dtype), self.State(*(part.to(dtype) for part in state)), lengths)
        expect_dtype(x, self._like())
        flat = math.prod(batch)
        mask = None
        if lengths is not None:
            known = as_lengths(lengths, batch, steps, least=1).to(x.device)
            mask = torch.arange(steps, device=x.device) < known.reshape(flat, 1)
        parts = [part.reshape(flat, self.depth, self.directions, self.width) for part in state]
        y = x.reshape(flat, steps, self.inputs)
        ends = []
        for i, layer in enumerate(self.layers):
            if i and self.dropout and self.training:
                y = fast_dropout(y, self.dropout)
            outputs = []
            for j, cell in enumerate(layer.values()):  # type: ignore[operator]
                z, end = cell(y, tuple(part[:, i, j] for part in parts), mask, j == 1)
                outputs.append(z)
                ends.append(end)
            y = torch.cat(outputs, -1) if self.bidirectional else outputs[0]
        shape = (*batch, self.depth, self.directions, self.width)
        join = lambda parts: torch.stack(parts, 1) if len(parts) > 1 else parts[0]
        new = self.State(*(join(part).reshape(shape) for part in zip(*ends, strict=True)))
        return y.reshape(*batch, steps, y.shape[-1]), new

    def _like(self) -> Tensor:
        """A weight, for its type and device; asking all parameters for the first takes longer than a short pass."""
        cell: Any = self.layers[0].forwards
        weight = getattr(cell.map_hidden, "weight", None)
        return weight if isinstance(weight, Tensor) else next(self.parameters())

    def step(self, x: Float[Tensor, "*b i"], state: State | None = None) -> tuple[Float[Tensor, "*b w"], State]:
        """One step, as when inputs come in one after the other: its output and the state after it."""
        if self.bidirectional:
            raise ValueError(
                "a bidirectional net reads the whole sequence before its first output, got step(); call the layer on "
                "the sequence, or build it with bidirectional=False"
            )
        expect_width("x", x, self.inputs)
        y, state = self.forward(x.unsqueeze(-2), state)
        return y.squeeze(-2), state

    def _expect_state(self, state: Any, batch: tuple[int, ...]) -> None:
        names = self.State._fields
        if not isinstance(state, tuple) or len(state) != len(names):
            came = f"{len(state)} parts" if isinstance(state, tuple) else type(state).__name__
            raise ValueError(
                f"the state of {type(self).__name__} must be the tuple ({', '.join(names)}), got {came}; "
                f"pass what the last call returned, or None to begin"
            )
        shape = (*batch, self.depth, self.directions, self.width)
        for name, part in zip(names, state, strict=True):
            if part.shape != shape:
                raise ValueError(
                    f"state.{name} must have shape {shape} (batch, depth, directions, width), got {tuple(part.shape)}; "
                    "pass a state of this layer for a batch of this size, or None to begin"
                )

    @override
    def extra_repr(self) -> str:
        both = ", bidirectional" if self.bidirectional else ""
        dropout = f", dropout={self.dropout}" if self.dropout else ""
        return f"{self.inputs} → {self.width}, depth={self.depth}{both}{dropout}"


def expect_sequence(x: Tensor, inputs: int) -> None:
    """Sequences have at least one step."""
    expect_float("x", x)
    expect_width("x", x, inputs)
    if x.ndim < 2:
        raise ValueError(f"x must have shape (..., steps, inputs), got {tuple(x.shape)}; for one step use layer.step")
    if x.shape[-2] == 0:
        raise ValueError(f"a sequence must have at least one step, got shape {tuple(x.shape)}; leave empty ones out")


def expect_dtype(x: Tensor, weights: Tensor) -> None:
    """Inputs and weights are of one type."""
    if x.dtype != weights.dtype:
        raise ValueError(
            f"x must be of the type of the weights, {weights.dtype}, got {x.dtype}; convert one of the two, "
            f"x.to({weights.dtype}) or layer.to({x.dtype})"
        )
