r"""`generate` and `stream` continue sequences of tokens with a model, one token at a time.

    x_{t+1} ~ p(x | x_1 … x_t)          append, repeat

`generate` returns whole sequences, `stream` yields each new token as it is chosen. Keys and values of earlier tokens
are cached; prompts of different lengths share a batch. `log_probabilities` says how likely a given text is. For text in
and out see texts.py. Bengio et al. 2003. Notes: N3 §5.4 (autoregressive models), §5.4.6 (density of a sequence).
"""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.models.generation.next_token import Decoder, Tokens, answers, as_prompt, begin, evaluating, unwrapped
from cutaway.models.generation.sampling import Sampling, as_sampling, choose, log_softmax
from cutaway.models.generation.speculation import LookaheadDecoder, choose_by_guesses
from cutaway.models.transformers.token_inputs import expect_real, expect_tokens, real_first


def stream(
    model: nn.Module,
    prompt: Tokens,
    tokens: int,
    *,
    end: int | Sequence[int] | None = None,
    speculate: int = 0,
    **sampling: Any,
) -> Iterator[Int[Tensor, "b"]]:
    """Yields the next token of every example, up to ``tokens`` times, or until all have met an ``end`` token.

    ``sampling``: temperature (0 is greedy), top_k, top_p, min_p, repetition_penalty, seed; see `Sampling`. Example i
    draws as if it were alone with seed + i. One that has ended keeps yielding its end token. Of a prompt longer than
    the context of a decoder-only model the last part is read; when the context is full, its last half is kept. The
    model runs in evaluation mode.

    ``speculate``: where the text repeats itself, up to so many tokens are guessed and checked in one pass. The text is
    the same but for ties within rounding; texts that copy are written faster, see speculation.py. 8 is a good number.
    Several prompts at once are written without guesses: their passes share the weights already.
    """
    expect_count(tokens=tokens)
    expect_guesses(speculate)
    settings = as_sampling(sampling)
    with evaluating(model):
        decoder = begin(model, prompt, tokens)
    if speculate and len(decoder.text) == 1 and isinstance(decoder, LookaheadDecoder):
        (given,) = as_prompt(prompt, torch.device("cpu")).rows
        return choose_by_guesses(model, decoder, given.tolist(), tokens, settings, as_ends(end), speculate)
    return _choose_each(model, decoder, tokens, settings, as_ends(end))


def expect_guesses(speculate: int) -> None:
    """The most tokens that may be guessed in one pass are a whole number; 0 is none."""
    if isinstance(speculate, bool) or not isinstance(speculate, int) or speculate < 0:
        raise ValueError(f"speculate must be a whole number of tokens, 0 or above, got {speculate!r}; try speculate=8")


def expect_count(**counts: Any) -> None:
    """How many tokens or beams: a whole number above 0."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name} must be a whole number above 0, got {value!r}; try {name}=10")
        expect_positive(**{name: int(value)})


def as_ends(end: int | Sequence[int] | None) -> tuple[int, ...]:
    """No end token, one, or several."""
    ends = () if end is None else tuple(end) if isinstance(end, Iterable) and not isinstance(end, str) else (end,)
    for token in ends:
        if isinstance(token, bool) or not isinstance(token, Integral):
            raise ValueError(f"an end token is given by its number, got {token!r}; a text ends before stop={token!r}")
    return tuple(int(token) for token in ends)


def _choose_each(
    model: nn.Module, decoder: Decoder, tokens: int, settings: Sampling, ends: tuple[int, ...]
) -> Iterator[Tensor]:
    generators = settings.generators(len(decoder.text))
    choice = ended = None
    for _ in range(tokens):
        # Entered for each step alone: between steps the caller's own mode holds.
        with evaluating(model):
            if choice is not None:
                decoder.append(choice)
            new = choose(decoder.logits(), settings, generators, decoder.text)
            if ends:
                choice = new if choice is None or ended is None else torch.where(ended, choice, new)
                ended = torch.isin(choice, choice.new_tensor(ends))
            else:
                choice = new
        yield choice
        if ended is not None and bool(ended.all()):
            return


def generate(
    model: nn.Module,
    prompt: Tokens,
    tokens: int,
    *,
    end: int | Sequence[int] | None = None,
    beams: int = 1,
    speculate: int = 0,
    **sampling: Any,
) -> list[list[int]]:
    """Whole sequences: each prompt with its new tokens (of an encoder–decoder, the new tokens alone).

    An ``end`` token stops an example when it is chosen; ``beams`` > 1 searches instead of sampling. For the rest see
    `stream`.
    """
    expect_count(beams=beams)
    if beams > 1:
        from cutaway.models.generation.beams import beam_search

        if speculate:
            raise ValueError(
                f"beam search does not guess ahead, got beams={beams} and speculate={speculate}; "
                "pass beams=1, or leave speculate out"
            )
        if sampling:
            raise ValueError(
                f"beam search does not sample, got {', '.join(sampling)} too; leave them out or use beams=1"
            )
        return [found[0].tokens for found in beam_search(model, prompt, tokens, beams=beams, end=end)]
    new = list(stream(model, prompt, tokens, end=end, speculate=speculate, **sampling))
    grown = [cut_at_end(row, as_ends(end)) for row in torch.stack(new, 1).tolist()]
    if answers(model):
        return grown
    given = as_prompt(prompt, torch.device("cpu")).rows
    return [before.tolist() + row for before, row in zip(given, grown, strict=True)]


def cut_at_end(tokens: list[int], ends: tuple[int, ...]) -> list[int]:
    """The tokens up to and including the first that ends a text."""
    stop = next((i + 1 for i, token in enumerate(tokens) if token in ends), len(tokens))
    return tokens[:stop]


def log_probabilities(
    model: nn.Module,
    tokens: Int[Tensor, "b t"],
    mask: Bool[Tensor, "b t"] | None = None,
    source: Int[Tensor, "b s"] | None = None,
    source_mask: Bool[Tensor, "b s"] | None = None,
) -> Float[Tensor, "b n"]:
    """log p(x_t | x_1 … x_{t−1}), the logs whose sum is the log-density of a text: p(x) = Π_t p(x_t | x_1 … x_{t−1}).

    Without a ``source``, of a model that goes on with texts, from t = 2 on: the first token is given. With one, log
    p(x_t | source, x_1 … x_{t−1}) from t = 1 on: an encoder–decoder encodes it, any other model reads it as the
    beginning of the text, so that the sum is log p(x | c) = log p(c ‖ x) − log p(c). Masks mark real tokens; positions
    of padding have 0. The model runs in its own mode, and gradients flow.
    """
    expect_tokens(tokens)
    expect_real(mask, tokens)
    name, writes = type(unwrapped(model)).__name__, getattr(unwrapped(model), "writes", "")
    real = mask
    if writes == "continuations" and source is None:
        if tokens.shape[1] < 2:
            raise ValueError(
                f"a text must have at least two tokens, got {tokens.shape[1]}; the first is given, not predicted"
            )
        logits, targets = (model(tokens) if mask is None else model(tokens, mask))[:, :-1], tokens[:, 1:]
        real = None if mask is None else mask[:, 1:] & mask[:, :-1]
    elif writes == "continuations":
        assert source is not None
        logits, targets = _logits_after(model, source, tokens, source_mask, mask), tokens
    elif writes == "answers":
        if source is None:
            raise ValueError(f"a {name} answers a source, got none; pass source=")
        start = torch.full_like(tokens[:, :1], unwrapped(model).spec.start)
        shifted = torch.cat([start, tokens[:, :-1]], 1)
        logits, targets = model(source, shifted, source_mask), tokens
    else:
        raise ValueError(f"the density of a text needs a language model with its head, got {name}; see with_head")
    chosen = log_softmax(logits).gather(-1, targets[..., None]).squeeze(-1)
    return chosen if real is None else torch.where(real, chosen, 0.0)


def _logits_after(
    model: nn.Module,
    prompt: Int[Tensor, "b s"],
    tokens: Int[Tensor, "b t"],
    prompt_mask: Bool[Tensor, "b s"] | None,
    mask: Bool[Tensor, "b t"] | None,
) -> Float[Tensor, "b t v"]:
    """The logits of each token of a text that follows a prompt, from one pass over both."""
    expect_tokens(prompt)
    expect_real(prompt_mask, prompt)
    joined = torch.cat([prompt, tokens], 1)
    options: dict[str, Any] = {}
    lengths = torch.full_like(prompt[:, 0], prompt.shape[1])
    if prompt_mask is not None or mask is not None:
        parts = ((prompt, prompt_mask), (tokens, mask))
        real = torch.cat([torch.ones_like(x, dtype=torch.bool) if m is None else m for x, m in parts], 1)
        order, _ = real_first(real)
        joined, options["mask"] = joined.gather(1, order), real.gather(1, order)
        lengths = lengths if prompt_mask is None else prompt_mask.sum(1)
    if getattr(unwrapped(model).spec, "prefix", False):
        options["prefix"] = lengths
    logits = model(joined, **options)
    places = lengths[:, None] - 1 + torch.arange(tokens.shape[1], device=tokens.device)
    return logits.gather(1, places[..., None].expand(-1, -1, logits.shape[-1]))
