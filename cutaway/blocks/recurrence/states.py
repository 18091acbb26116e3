r"""The state of a recurrent net: all that it remembers of the inputs so far.

    state⁽ᵗ⁾ = f(x⁽ᵗ⁾, state⁽ᵗ⁻¹⁾)

Each part of a state has shape (…, depth, directions, width), the leading axes those of the batch. A state is a tuple,
so that it can be taken apart and put together again: ``LSTMState(*(part.detach() for part in state))``.
Elman 1990; Hochreiter, Schmidhuber 1997. Notes: N3 §5.1–5.2.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


def thought_vector(hidden: Float[Tensor, "*b l d w"]) -> Float[Tensor, "*b o"]:
    """The last layer's hidden state, its directions side by side: the whole sequence in one vector of fixed length.

    Sutskever, Vinyals, Le 2014. Notes: N3 §5.5.1 (the thought vector).
    """
    return hidden[..., -1, :, :].flatten(-2)


class RNNState(NamedTuple):
    """The state of an RNN: its hidden state z⁽ᵗ⁾."""

    hidden: Tensor

    @property
    def thought(self) -> Float[Tensor, "*b o"]:
        """The thought vector: the last layer's hidden state, its directions side by side."""
        return thought_vector(self.hidden)


class LSTMState(NamedTuple):
    """The state of an LSTM: its hidden state z⁽ᵗ⁾, and its cell state c⁽ᵗ⁾, which the gates protect."""

    hidden: Tensor
    cell: Tensor

    @property
    def thought(self) -> Float[Tensor, "*b o"]:
        """The thought vector: the last layer's hidden state, its directions side by side."""
        return thought_vector(self.hidden)


class GRUState(NamedTuple):
    """The state of a GRU: its hidden state z⁽ᵗ⁾."""

    hidden: Tensor

    @property
    def thought(self) -> Float[Tensor, "*b o"]:
        """The thought vector: the last layer's hidden state, its directions side by side."""
        return thought_vector(self.hidden)


State = RNNState | LSTMState | GRUState
