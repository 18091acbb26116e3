r"""Generation of text: a prompt is encoded, continued token by token, and decoded.

    text = decode(generate(encode(prompt)))[after the prompt]

A piece of text is shown once its last character is complete: a token may hold half of one (byte-level BPE), and only
the next token tells. Text that could be the beginning of a stop string waits until it is clear that it is none.
Radford et al. 2019 (bytes). Notes: N3 §5.4.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from cutaway.models.generation.next_token import answers
from cutaway.models.generation.token_streams import as_ends, expect_count, generate, stream

BROKEN = "\ufffd"  # what decoders write for bytes that are no character (yet)


class IncrementalText:
    """Decodes tokens one by one: `add` returns the text that is certain by now, `finish` what was held back.

    ``stop``: the text ends before the first of these strings; ``stopped`` tells that it did.
    """

    def __init__(self, tokenizer: Any, before: Sequence[int] = (), stop: Sequence[str] = ()) -> None:
        self.tokenizer, self.stop = tokenizer, tuple(stop)
        # Only the last few tokens are decoded, from `first` on; `said` of these were returned as text already.
        self.ids, self.first, self.said = list(before), 0, len(before)
        self.held = ""
        self.stopped = False

    def add(self, token: int) -> str:
        """The text that is certain after this token, often that of the token itself."""
        self.ids.append(token)
        return self._release("" if self.stopped else self._decode(whole=False), final=False)

    def finish(self) -> str:
        """What is left: half a character, or what might have become a stop string."""
        return self._release("" if self.stopped else self._decode(whole=True), final=True)

    def _decode(self, whole: bool) -> str:
        # A difference of two texts that begin alike, as some tokenizers treat the first token of a text specially.
        text = self.tokenizer.decode(self.ids[self.first :])
        if text.endswith(BROKEN) and not whole:
            return ""
        before = self.tokenizer.decode(self.ids[self.first : self.said])
        self.first, self.said = self.said, len(self.ids)
        return text[len(before) :]

    def _release(self, text: str, final: bool) -> str:
        text, self.held = self.held + text, ""
        places = [place for place in map(text.find, self.stop) if place >= 0]
        if places:
            self.stopped = True
            return text[: min(places)]
        if not final and self.stop:
            longest = max(map(len, self.stop)) - 1
            sizes = range(min(longest, len(text)), 0, -1)
            wait = next((n for n in sizes if any(stop.startswith(text[-n:]) for stop in self.stop)), 0)
            text, self.held = text[: len(text) - wait], text[len(text) - wait :]
        return text


def stream_text(
    model: nn.Module,
    prompt: str | Sequence[Mapping[str, Any]],
    tokens: int = 200,
    *,
    tokenizer: Any = None,
    stop: str | Sequence[str] = (),
    end: int | Sequence[int] | None = None,
    special: bool = False,
    **sampling: Any,
) -> Iterator[str]:
    """Yields the text that follows the prompt, piece by piece; pieces are whole characters.

    A list of messages, as ``[{"role": "user", "content": "Hi"}]``, is written by the tokenizer's chat template. Special
    tokens in a prompt are plain text unless ``special``; those of a chat template are always tokens.
    ``tokenizer`` is by default the model's own. The text ends after ``tokens`` tokens, before any of the ``stop``
    strings, or at an ``end`` token (by default those that the model's spec names). ``sampling`` and ``speculate``
    as for `stream`.
    """
    tokenizer = find_tokenizer(model, tokenizer)
    ids, ends, stops = encode_prompt(tokenizer, prompt, special), find_ends(model, end), as_stops(stop)
    before = [] if answers(model) else ids
    return _yield_text(
        stream(model, ids, tokens, end=ends, **sampling), IncrementalText(tokenizer, before, stops), ends
    )


def _yield_text(steps: Iterator[Any], incremental: IncrementalText, ends: tuple[int, ...]) -> Iterator[str]:
    for (token,) in (step.tolist() for step in steps):
        if token in ends:
            break
        piece = incremental.add(token)
        if piece:
            yield piece
        if incremental.stopped:
            return
    if rest := incremental.finish():
        yield rest


def generate_text(
    model: nn.Module,
    prompt: str | Sequence[Any],
    tokens: int = 200,
    *,
    tokenizer: Any = None,
    stop: str | Sequence[str] = (),
    end: int | Sequence[int] | None = None,
    beams: int = 1,
    special: bool = False,
    **sampling: Any,
) -> Any:
    """The text that follows the prompt, without it; for a list of prompts a list of texts, in one batch.

    A prompt is a text or a conversation (a list of messages).
    See `stream_text`; ``beams`` > 1 searches for the most probable text instead of drawing one.
    """
    tokenizer = find_tokenizer(model, tokenizer)
    expect_count(beams=beams)
    single = isinstance(prompt, str) or is_chat(prompt) or not isinstance(prompt, Sequence)
    prompts = [prompt] if single else list(prompt)
    ids = [encode_prompt(tokenizer, one, special) for one in prompts]
    ends, stops = find_ends(model, end), as_stops(stop)
    before = [[] if answers(model) else row for row in ids]
    incremental = [IncrementalText(tokenizer, row, stops) for row in before]
    if beams > 1:
        found = generate(model, ids, tokens, end=ends, beams=beams, **sampling)
        new: Any = [row[len(given) :] for row, given in zip(found, before, strict=True)]
        texts = [_text_of(row, one, ends) for row, one in zip(new, incremental, strict=True)]
    else:
        texts = _grow(stream(model, ids, tokens, end=ends, **sampling), incremental, ends)
    return texts[0] if single else texts


def _grow(steps: Iterator[Any], incremental: list[IncrementalText], ends: tuple[int, ...]) -> list[str]:
    """All texts of a batch; the steps end once every text has."""
    pieces: list[list[str]] = [[] for _ in incremental]
    open_rows = set(range(len(incremental)))
    for step in steps:
        for i, token in enumerate(step.tolist()):
            if i in open_rows:
                if token not in ends:
                    pieces[i].append(incremental[i].add(token))
                if token in ends or incremental[i].stopped:
                    open_rows.discard(i)
        if not open_rows:
            break
    return ["".join([*pieces[i], one.finish()]) for i, one in enumerate(incremental)]


def _text_of(tokens: list[int], incremental: IncrementalText, ends: tuple[int, ...]) -> str:
    pieces = [incremental.add(token) for token in tokens if token not in ends]
    return "".join([*pieces, incremental.finish()])


def find_tokenizer(model: nn.Module, given: Any = None) -> Any:
    """The tokenizer that was given, or the one that the model came with."""
    found = getattr(model, "tokenizer", None) if given is None else given
    if found is None:
        raise ValueError(
            "text needs a tokenizer, got a model without one; pass tokenizer=, or set model.tokenizer, "
            "or generate tokens with generate()"
        )
    vocabulary = getattr(getattr(model, "spec", None), "vocabulary", None)
    if vocabulary is not None and found.vocabulary > vocabulary:
        raise ValueError(
            f"a tokenizer must fit the model's vocabulary of {vocabulary:,}, got one of {found.vocabulary:,}; "
            "use the tokenizer that the model was trained with"
        )
    return found


def find_ends(model: nn.Module, given: int | Sequence[int] | None) -> tuple[int, ...]:
    """The end tokens that were given, or those that the model's spec names."""
    return tuple(getattr(getattr(model, "spec", None), "end", ())) if given is None else as_ends(given)


def as_stops(stop: str | Sequence[str]) -> tuple[str, ...]:
    """One stop string or several; none of them empty."""
    stops = tuple(stop) if isinstance(stop, Iterable) and not isinstance(stop, str) else (stop,)
    for one in stops:
        if not isinstance(one, str):
            raise ValueError(f"a stop string must be a text, got {one!r}; for the number of a token use end={one!r}")
    if "" in stops:
        raise ValueError("a stop string must have a character, got ''; leave stop out to go on to the last token")
    return stops


def is_chat(prompt: Any) -> bool:
    """Whether a prompt is a conversation: a list of messages."""
    return isinstance(prompt, Sequence) and len(prompt) > 0 and isinstance(prompt[0], Mapping)


def expect_text(prompt: Any) -> None:
    if not isinstance(prompt, str):
        raise ValueError(f"a prompt must be a text or a list of chat messages, got {prompt!r}; try '\\n'")


def encode_prompt(tokenizer: Any, prompt: str | Sequence[Mapping[str, Any]], special: bool = False) -> list[int]:
    """The ids of a prompt, with the special tokens that the tokenizer puts around a whole text."""
    text: Any = tokenizer.chat(prompt) if is_chat(prompt) else prompt
    expect_text(text)
    writes_special_tokens = getattr(text, "writes_special_tokens", False)  # as the text of a conversation has
    whole = tokenizer.encode if writes_special_tokens else getattr(tokenizer, "encode_whole", tokenizer.encode)
    ids = [int(i) for i in (whole(text, special=True) if special else whole(text))]
    if not ids:
        raise ValueError(f"a prompt must hold at least one token, got {text!r}; begin with a word, or a line end")
    return ids


__all__ = ["IncrementalText", "encode_prompt", "generate_text", "stream_text"]
