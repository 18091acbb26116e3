r"""Decoders give the logits of a sequence's next token, and take in the token that was chosen, one after another.

    ℓ_t = logits(x_1 … x_t),   x_{t+1} chosen by the caller

A `Decoder` holds several unfinished sequences side by side. Sampling and beam search use a decoder and know nothing of
models. A model of your own can generate if it has a method ``begin(prompt, tokens)`` that returns a decoder.
Notes: N3 §5.4.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

Tokens = Tensor | np.ndarray | Sequence[Any]  # of one sequence, or of several


@runtime_checkable
class Decoder(Protocol):
    """Unfinished sequences. ``text`` holds all tokens so far, (batch, length); padding repeats a row's first token."""

    @property
    def text(self) -> Int[Tensor, "b t"]: ...

    def logits(self) -> Float[Tensor, "b v"]:
        """The scores of the next token of every sequence. Once for each `append`."""

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        """Appends one token to each sequence."""

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        """Keeps these sequences only; a row may be named several times (beam search)."""


class Prompt(NamedTuple):
    """Prompts side by side, padded on the left by repeating their first token; ``lengths`` without padding."""

    tokens: Int[Tensor, "b t"]
    lengths: list[int]

    @property
    def mask(self) -> Bool[Tensor, "b t"] | None:
        """True at real tokens; None if all are."""
        return left_mask(self.lengths, self.tokens.device)

    @property
    def rows(self) -> list[Int[Tensor, "_"]]:
        """The prompts without padding."""
        return [row[len(row) - n :] for row, n in zip(self.tokens, self.lengths, strict=True)]


def left_mask(lengths: list[int], device: torch.device) -> Bool[Tensor, "b t"] | None:
    """The mask of rows that end together; None if they are of one length."""
    longest = max(lengths)
    if min(lengths) == longest:
        return None
    before = torch.tensor([longest - n for n in lengths], device=device)
    return torch.arange(longest, device=device) >= before[:, None]


def as_prompt(prompt: Tokens, device: torch.device, vocabulary: int | None = None) -> Prompt:
    """One sequence, several of one length, or several of different lengths."""
    if isinstance(prompt, str):
        raise ValueError(f"a prompt is made of tokens here, got the text {prompt[:20]!r}; for text use generate_text")
    if isinstance(prompt, (Tensor, np.ndarray)):
        prompt = torch.as_tensor(prompt)
        rows = list(prompt) if prompt.ndim == 2 else [prompt]
    elif len(prompt) and isinstance(prompt[0], Integral):
        rows = [torch.as_tensor(prompt)]
    else:
        rows = [torch.as_tensor(row) for row in prompt]
    if not rows or any(row.numel() == 0 for row in rows):
        raise ValueError("a prompt must hold at least one token, got an empty one; begin with a start token or a space")
    for row in rows:
        if row.is_floating_point() or row.dtype == torch.bool or row.ndim != 1:
            raise ValueError(
                f"a prompt must be a list or tensor of tokens, or several, got {row.dtype} of shape "
                f"{tuple(row.shape)}; convert it with .long(), and give one list for each example"
            )
        low, high = int(row.min()), int(row.max())
        if low < 0 or (vocabulary is not None and high >= vocabulary):
            raise ValueError(
                f"tokens must lie from 0 to {'vocabulary - 1' if vocabulary is None else vocabulary - 1}, "
                f"got {low if low < 0 else high}; encode the text with the model's own tokenizer"
            )
    lengths = [len(row) for row in rows]
    # Padding repeats the first token, so that the set of tokens in a row (which penalties look at) stays the same.
    padded = [torch.cat([row[:1].expand(max(lengths) - len(row)), row]) for row in rows]
    return Prompt(torch.stack(padded).long().to(device), lengths)


def unwrapped(model: nn.Module) -> Any:
    """The model inside torch.compile's wrapper."""
    return getattr(model, "_orig_mod", model)


def answers(model: nn.Module) -> bool:
    """Whether a model answers its prompt from a start token on (an encoder–decoder), instead of going on from it."""
    return getattr(unwrapped(model), "writes", "") == "answers"


def begin(model: nn.Module, prompt: Tokens, tokens: int) -> Decoder:
    """The decoder of a model for these prompts."""
    model = unwrapped(model)
    start = getattr(model, "begin", None)
    if start is None:
        raise ValueError(
            f"generating needs a language model, got {type(model).__name__}; it has no next token to predict"
        )
    device = next(model.parameters()).device
    vocabulary = getattr(getattr(model, "spec", None), "vocabulary", None)
    return start(as_prompt(prompt, device, vocabulary), tokens)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Runs the model without gradients and dropout; its mode is restored afterwards."""
    training = [module for module in model.modules() if module.training] if model.training else []
    for module in training:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


class GPTDecoder:
    """The decoder of a decoder-only model. A sequence that fills the context goes on from the last half of it.

    Each sequence does so by its own length, so what it becomes does not depend on the others in its batch.
    """

    def __init__(self, model: Any, prompt: Prompt, tokens: int) -> None:
        self.model, self.context = model, model.spec.context
        self.kept = [min(n, self.context) for n in prompt.lengths]  # tokens of each that the model still sees
        longest = prompt.tokens.shape[1]
        self._text = torch.cat([prompt.tokens, prompt.tokens.new_empty(len(prompt.tokens), tokens)], 1)
        self.length = longest
        self.guessed = 0  # tokens in the cache that are not yet in the text
        self.cache = model.new_cache(len(prompt.tokens), min(self.context, longest + tokens))
        self.prompted = longest  # where the prompts end
        self._see_all()

    @property
    def text(self) -> Int[Tensor, "b t"]:
        return self._text[:, : self.length]

    def logits(self) -> Float[Tensor, "b v"]:
        hidden = self.model.hidden(self.new, self.real, cache=self.cache, prefix=self._prefix())
        return self.model.read_out(hidden[:, -1])

    def _prefix(self) -> Tensor | None:
        """How much of each prompt is read in both directions now; None if nothing is."""
        if not self.model.spec.prefix or self.cache.length:
            return None
        written = self.length - self.prompted
        return torch.tensor([max(0, n - written) for n in self.kept], device=self._text.device)

    @property
    def room(self) -> int:
        return self.context - max(self.kept)

    def look_ahead(self, guesses: Int[Tensor, "b k"]) -> Float[Tensor, "b n v"]:
        k = guesses.shape[1]
        if k == 0:
            return self.logits()[:, None]
        real = None if self.real is None else nn.functional.pad(self.real, (0, k), value=True)
        new = torch.cat([self.new, guesses], 1)
        hidden = self.model.hidden(new, real, cache=self.cache, prefix=self._prefix())
        self.guessed = k
        return self.model.read_out(hidden[:, -k - 1 :])

    def accept(self, tokens: Int[Tensor, "b m"]) -> None:
        right = tokens.shape[1] - 1
        self.cache.keep(self.cache.length - self.guessed + right)
        self._text[:, self.length : self.length + right] = tokens[:, :right]
        self.length += right
        self.kept = [n + right for n in self.kept]
        self.guessed = 0
        self.append(tokens[:, right])

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        self._text[:, self.length] = tokens
        self.length += 1
        self.kept = [n + 1 for n in self.kept]
        if max(self.kept) > self.context:
            self.kept = [max(1, self.context // 2) if n > self.context else n for n in self.kept]
            self.cache.keep(0)
            self._see_all()
        else:
            self._see(tokens[:, None], None)

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        self.cache = self.cache.pick(rows)
        self._text = self._text[rows]
        self._see(self.new[rows], None if self.real is None else self.real[rows])
        self.kept = [self.kept[row] for row in rows.tolist()]

    def _see_all(self) -> None:
        self._see(self.text[:, self.length - max(self.kept) :], left_mask(self.kept, self._text.device))

    def _see(self, new: Tensor, real: Tensor | None) -> None:
        """Sets the input of the next pass, and which of its tokens are real."""
        self.new, self.real = new, real


class Seq2SeqDecoder:
    """The decoder of an encoder–decoder, which answers its prompts from the start token on."""

    def __init__(self, model: Any, prompt: Prompt, tokens: int) -> None:
        if model.context is not None and tokens > model.context:
            raise ValueError(
                f"the model's context is {model.context} tokens, got tokens={tokens}; ask for at most {model.context}"
            )
        self.model, self.mask = model, prompt.mask
        self.memory = model.encode(prompt.tokens, self.mask)
        self._text = prompt.tokens.new_full((len(self.memory), tokens + 1), model.spec.start)
        self.length = 1
        self.guessed = 0  # tokens in the cache that are not yet in the text
        self.cache = model.new_cache(len(self.memory), tokens + 1)

    @property
    def text(self) -> Int[Tensor, "b t"]:
        return self._text[:, : self.length]

    def logits(self) -> Float[Tensor, "b v"]:
        return self.look_ahead(self.text[:, :0])[:, -1]

    @property
    def room(self) -> int:
        return self.cache.context - self.length

    def look_ahead(self, guesses: Int[Tensor, "b k"]) -> Float[Tensor, "b n v"]:
        self.guessed = guesses.shape[1]
        new = torch.cat([self.text[:, -1:], guesses], 1)
        return self.model.decode(new, self.memory, cache=self.cache, mask=self.mask)

    def accept(self, tokens: Int[Tensor, "b m"]) -> None:
        right = tokens.shape[1] - 1
        self.cache.keep(self.cache.length - self.guessed + right)
        self._text[:, self.length : self.length + right + 1] = tokens
        self.length += right + 1
        self.guessed = 0

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        self._text[:, self.length] = tokens
        self.length += 1

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        self.cache, self.memory, self._text = self.cache.pick(rows), self.memory[rows], self._text[rows]
        self.mask = None if self.mask is None else self.mask[rows]
