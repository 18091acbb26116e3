r"""The state that a recurrent language model carries from one call to the next, as a transformer carries its cache.

    state = CarriedState()
    model(first, state=state);  model(rest, state=state)         equals model([first, rest])

A decoder writes token by token with it, in constant time and memory a token, however long the text is.
Notes: N3 §5.1 (real-time prediction), §5.4.3 (RNN decoder).
"""

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from cutaway.models.generation.next_token import Prompt


class CarriedState:
    """What a recurrent model remembers of each row; None before the first token. The model replaces it at each call."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        """Keeps these rows only; a row may be named several times."""
        self._change(lambda part: part[rows])

    def detach(self) -> None:
        """Cuts the state off from the calls that made it: gradients go no further back."""
        self._change(lambda part: part.detach())

    def reset(self, rows: Bool[Tensor, "b"]) -> None:
        """The rows that are marked forget everything."""
        self._change(lambda part: part.masked_fill(rows.view(-1, *[1] * (part.ndim - 1)), 0.0))

    def parts(self) -> dict[str, Tensor]:
        """The tensors of the state by name, as for a file; none before the first token."""
        return {} if self.value is None else self.value._asdict()

    def _change(self, change: Any) -> None:
        if self.value is not None:
            self.value = type(self.value)(*(change(part) for part in self.value))


class RecurrentDecoder:
    """The decoder of a recurrent language model: it reads each token once."""

    def __init__(self, model: Any, prompt: Prompt, tokens: int) -> None:
        self.model, self.state = model, CarriedState()
        self._text = prompt.tokens.new_empty(len(prompt.tokens), prompt.tokens.shape[1] + tokens)
        self.length = prompt.tokens.shape[1]
        self._text[:, : self.length] = prompt.tokens
        self.new, self.real = prompt.tokens, prompt.mask  # what the model has not read yet

    @property
    def text(self) -> Int[Tensor, "b t"]:
        return self._text[:, : self.length]

    def logits(self) -> Float[Tensor, "b v"]:
        hidden = self.model.hidden(self.new, self.real, self.state)
        return self.model.read_out(hidden[:, -1])  # padding stands on the left: the last token of every row is real

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        self._text[:, self.length] = tokens
        self.length += 1
        self.new, self.real = tokens[:, None], None

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        self.state.pick(rows)
        self._text, self.new = self._text[rows], self.new[rows]
        self.real = None if self.real is None else self.real[rows]


__all__ = ["CarriedState", "RecurrentDecoder"]
