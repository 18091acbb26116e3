r"""Tokenizers turn text into numbers and back: by characters, bytes, or pieces of words learned from text (BPE).

    ids = encode(text)        text = decode(ids)        0 ≤ ids < vocabulary

All three are kept as a Hugging Face `tokenizer.json`, which `tokenizers` and `transformers` read to the same ids.
BPE: Gage 1994, Sennrich et al. 2016, on bytes as in Radford et al. 2019. Notes: N3 §4.
"""

import hashlib
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsInt

import numpy as np
import tokenizers as hf
from jaxtyping import Int, Integer
from tokenizers import decoders, models, pre_tokenizers, trainers

from cutaway.atomic_files import parse_json, write_json, write_text
from cutaway.data.checks import expect_choice
from cutaway.data.text.chat.chat_templates import ChatText, Message, choose_template, write_chat
from cutaway.data.text.chunks import batched, cut_safely, short_stretches
from cutaway.data.text.tokenizer_settings import FILE as SETTINGS_FILE
from cutaway.data.text.tokenizer_settings import Settings, read_settings, special_names
from cutaway.overriding import override

UNKNOWN = "<unk>"
_EVERY_CHARACTER = r"[\s\S]"
# A word with the space before it; it ends only before a space, tab or line end: other white space is not as clear.
_WORD = re.compile(r"\s*\S+(?:[^\S \n\t]\s*\S*)*|\s+")
_HALF = re.compile("[\ud800-\udfff]")
_WORDS = 200_000  # that are remembered with their ids


class Tokenizer:
    """A vocabulary: text to ids and back. This class wraps a `tokenizers.Tokenizer`; `save` writes its file.

    Special tokens ("<s>", "<|im_start|>") steer a model. In a text they are plain characters, so that no one who writes
    a text steers the model by it; with ``special=True``, and in what `chat` returns, they are the tokens.
    ``settings`` are those of tokenizer_config.json: which special token has which role, the template of conversations.
    """

    def __init__(self, inner: hf.Tokenizer, kind: str = "loaded", settings: Settings | None = None) -> None:
        self.inner = inner
        self.kind = kind
        self.settings: Settings = dict(settings or {})
        # Text is text: a "<pad>" that someone wrote is five characters, not the token.
        inner.encode_special_tokens = True
        inner.no_padding()
        inner.no_truncation()
        self.vocabulary = max(inner.get_vocab().values(), default=-1) + 1

    def encode(self, text: str, special: bool | None = None) -> Int[np.ndarray, "n"]:
        """The ids of a text; its special tokens are read as such if ``special``, by default in a `chat` alone."""
        inner = self._special_reader if reads_special(text, special) else self.inner
        with _whole_characters(text):
            return np.array(inner.encode(str(text), add_special_tokens=False).ids, dtype=np.int64)

    def encode_whole(self, text: str, special: bool | None = None) -> Int[np.ndarray, "n"]:
        """The ids of a whole text, with the special tokens that the model expects around it ([CLS] …, a start)."""
        self.encode(text, special)  # says what is wrong with a text
        inner = self._special_reader if reads_special(text, special) else self.inner
        return np.array(inner.encode(str(text), add_special_tokens=True).ids, dtype=np.int64)

    @cached_property
    def _special_reader(self) -> hf.Tokenizer:
        """The same vocabulary, reading special tokens; one of its own, as other threads may be reading plain text."""
        reader = hf.Tokenizer.from_str(self.inner.to_str())
        reader.encode_special_tokens = False
        return reader

    @cached_property
    def _framed_reader(self) -> hf.Tokenizer:
        """Reads special tokens and puts those of the frame around a text; made when the frame is known."""
        reader = hf.Tokenizer.from_str(self.inner.to_str())
        reader.encode_special_tokens = False
        return reader

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens, which no plain text encodes to, and their ids."""
        added = self.inner.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of the special tokens whose roles the settings name, as ``{"eos_token_id": 2}``."""
        ids = {f"{role}_id": self.inner.token_to_id(name) for role, name in special_names(self.settings).items()}
        return {role: number for role, number in ids.items() if number is not None}

    def chat(
        self, messages: Sequence[Message], reply: bool = True, template: str = "default", **values: Any
    ) -> ChatText:
        """A conversation as its model wants it written: ``[{"role": "user", "content": "Hi"}]`` and so on.

        With ``reply`` the text ends where the model's answer begins. ``values`` (tools, documents …) go to the
        checkpoint's chat template. The result is a prompt for `generate_text`, and `encode` reads its special tokens.
        """
        names = special_names(self.settings) | {"add_generation_prompt": reply} | values
        return write_chat(choose_template(self.settings.get("chat_template"), template), messages, names)

    def encode_each(self, texts: Sequence[str]) -> list[Int[np.ndarray, "_"]]:
        """The ids of many texts, each on its own."""
        with _whole_characters(*texts):
            found = self.inner.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in found]

    def encode_wholes(self, texts: Sequence[str], most: int | None = None) -> tuple[list[Int[np.ndarray, "_"]], int]:
        """The ids of many whole texts, each with its special tokens, and how many texts were cut to ``most`` ids.

        A text that is too long loses its last tokens; the special tokens behind it stay. This is for vectors of texts,
        so a special token that is written out in a text ("a [SEP] b") is that token, as sentence-transformers reads it:
        the same text has the same vector there. Texts that are classified or gone on from are read plainly.
        """
        from cutaway.data.text.whole_texts import text_frame  # which is built on this file

        text_frame(self)  # our own runs keep the vocabulary alone: its special tokens are put around texts
        with _whole_characters(*texts):
            found = self._framed_reader.encode_batch_fast(list(texts), add_special_tokens=True)
        rows = [np.array(encoding.ids, dtype=np.int64) for encoding in found]
        if most is None:
            return rows, 0
        long = [i for i, row in enumerate(rows) if len(row) > most]
        for i in long:
            after = int(np.argmin(np.append(found[i].special_tokens_mask[::-1], 0)))  # special tokens at the end
            rows[i] = np.concatenate([rows[i][: max(most - after, 0)], rows[i][len(rows[i]) - after :]])[:most]
        return rows, len(long)

    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int[np.ndarray, "_"]]:
        """The ids of a long text that comes in pieces, as if it were whole, in the memory of a few pieces."""
        for texts in batched(cut_safely(pieces), 16):
            yield np.concatenate(self.encode_each(texts))

    def decode(self, ids: Iterable[SupportsInt], special: bool = False) -> str:
        """The text of some ids; special tokens (padding, start, end) are left out unless ``special``."""
        return self.inner.decode(self._checked(ids), skip_special_tokens=not special)

    def decode_each(self, rows: Iterable[Iterable[SupportsInt]]) -> list[str]:
        """The texts of many rows of ids, each on its own; faster than one `decode` after another."""
        return self.inner.decode_batch([self._checked(ids) for ids in rows], skip_special_tokens=True)

    def _checked(self, ids: Iterable[SupportsInt]) -> list[int]:
        listed = [int(i) for i in ids]
        for i in listed:
            if not 0 <= i < self.vocabulary:
                raise ValueError(
                    f"ids must lie from 0 to {self.vocabulary - 1}, got {i}; "
                    "decode with the tokenizer that the ids were made with"
                )
        return listed

    def id_of(self, token: str) -> int:
        """The id of a token."""
        found = self.inner.token_to_id(token)
        if found is None:
            raise ValueError(f"the vocabulary must hold {token!r}, it does not; train the tokenizer with it as special")
        return found

    def to_json(self) -> str:
        """The content of `tokenizer.json`."""
        return self.inner.to_str(pretty=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `tokenizer.json`; a folder gets it under that name."""
        path = Path(path)
        write_text(path / "tokenizer.json" if path.is_dir() else path, self.to_json())

    def save_settings(self, path: str | os.PathLike[str]) -> None:
        """Writes `tokenizer_config.json`; a folder gets it under that name."""
        path = Path(path)
        # Without a class, transformers would build the tokenizer of the model's family around our vocabulary.
        settings = {"tokenizer_class": "PreTrainedTokenizerFast"} | self.settings | special_names(self.settings)
        write_json(path / SETTINGS_FILE if path.is_dir() else path, settings)

    @property
    def key(self) -> str:
        """A digest that no other tokenizer has."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @override
    def __repr__(self) -> str:
        return f"Tokenizer({self.kind}, vocabulary {self.vocabulary:,})"


class Characters(Tokenizer):
    """One id for each character, in the order of their code points.

    A character that is not in the vocabulary is an error, or with ``unknown="<unk>"`` a last id of its own. ``special``
    tokens, which no text is made of, come behind it.
    """

    def __init__(self, characters: Iterable[str], unknown: str = "error", special: Sequence[str] = ()) -> None:
        expect_choice("unknown", unknown, ("error", UNKNOWN))
        self.characters = sorted(set(characters))
        tokens = self.characters if unknown == "error" else [*self.characters, UNKNOWN]
        self.unknown = unknown
        vocabulary = {token: i for i, token in enumerate(tokens)}
        inner = hf.Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
        inner.pre_tokenizer = pre_tokenizers.Split(hf.Regex(_EVERY_CHARACTER), "isolated")
        inner.decoder = decoders.Fuse()
        inner.add_special_tokens(list(special))
        super().__init__(inner, "characters")
        # id of each code point; one place more, for all that lie beyond
        points = [ord(c) for c in self.characters]
        absent = len(self.characters) if unknown == UNKNOWN else -1
        self._ids = np.full(max(points, default=0) + 2, absent, dtype=np.int64)
        self._ids[points] = np.arange(len(points))
        self._tokens = tokens

    @override
    def encode(self, text: str, special: bool | None = None) -> Int[np.ndarray, "n"]:
        if reads_special(text, special):
            rest = str(text)
            for token in self.special_tokens:
                rest = rest.replace(token, "")
            self.encode(rest, special=False)  # says what is wrong with a text
            return super().encode(text, special=True)
        ids = self._ids[np.minimum(code_points(text), len(self._ids) - 1)]
        if self.unknown == "error" and (ids < 0).any():
            place = int(np.argmax(ids < 0))
            raise ValueError(
                f"text must be made of the {len(self.characters)} characters that the model was trained on, got "
                f"{text[place]!r} at position {place:,}; leave it out, or train with tokenizer='bytes'"
            )
        return ids

    @override
    def encode_each(self, texts: Sequence[str]) -> list[Int[np.ndarray, "_"]]:
        return [self.encode(text) for text in texts]

    @override
    def encode_wholes(self, texts: Sequence[str], most: int | None = None) -> tuple[list[Int[np.ndarray, "_"]], int]:
        self.encode_each(texts)  # says what is wrong with a text
        return super().encode_wholes(texts, most)

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int[np.ndarray, "_"]]:
        return map(self.encode, pieces)

    @override
    def decode(self, ids: Iterable[SupportsInt], special: bool = False) -> str:
        if special:
            return super().decode(ids, special)
        return "".join(self._tokens[i] for i in self._checked(ids) if i < len(self._tokens))

    @override
    def decode_each(self, rows: Iterable[Iterable[SupportsInt]]) -> list[str]:
        return [self.decode(ids) for ids in rows]


class Bytes(Tokenizer):
    """The 256 bytes of UTF-8; the id of a byte is its value. Every text has ids, and no text has an unknown.

    ``special`` tokens, which no text is made of, come behind them.
    """

    def __init__(self, special: Sequence[str] = ()) -> None:
        inner = hf.Tokenizer(models.BPE(_bytes_as_letters(), []))
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        inner.decoder = decoders.ByteLevel()
        inner.add_special_tokens(list(special))
        super().__init__(inner, "bytes")

    @override
    def encode(self, text: str, special: bool | None = None) -> Int[np.ndarray, "n"]:
        if reads_special(text, special):
            return super().encode(text, special=True)
        return np.frombuffer(text.encode(errors="replace"), dtype=np.uint8).astype(np.int64)

    @override
    def encode_each(self, texts: Sequence[str]) -> list[Int[np.ndarray, "_"]]:
        return [self.encode(text) for text in texts]

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int[np.ndarray, "_"]]:
        return map(self.encode, pieces)

    @override
    def decode(self, ids: Iterable[SupportsInt], special: bool = False) -> str:
        if special:
            return super().decode(ids, special)
        return bytes(i for i in self._checked(ids) if i < 256).decode(errors="replace")

    @override
    def decode_each(self, rows: Iterable[Iterable[SupportsInt]]) -> list[str]:
        return [self.decode(ids) for ids in rows]


class BytePairs(Tokenizer):
    """Pieces of words, made of bytes as in GPT-2; `train_bpe` learns one.

    A word is encoded when it is first met and looked up from then on: several times as fast, with the same ids, as a
    token of this kind never reaches over the space before a word.
    """

    def __init__(self, inner: hf.Tokenizer) -> None:
        super().__init__(inner, "bpe")

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int[np.ndarray, "_"]]:
        known: dict[str, int] = {}
        ids, starts, lengths = array("q"), array("q"), array("q")
        for text in cut_safely(pieces):
            words = _WORD.findall(text)
            if len(known) > _WORDS:
                known.clear()
                ids, starts, lengths = array("q"), array("q"), array("q")
            new = [word for word in dict.fromkeys(words) if word not in known]
            with _whole_characters(*new):
                found = self.inner.encode_batch_fast(new, add_special_tokens=False)
            for word, encoding in zip(new, found, strict=True):
                known[word] = len(starts)
                starts.append(len(ids))
                lengths.append(len(encoding.ids))
                ids.extend(encoding.ids)
            places = np.fromiter(map(known.__getitem__, words), np.int64, len(words))
            start, length = (np.frombuffer(row, np.int64)[places] for row in (starts, lengths))
            # from each word's start in ids, as many as it has: the places of all, one after another
            before = np.repeat(start - (np.cumsum(length) - length), length)
            yield np.frombuffer(ids, np.int64)[before + np.arange(len(before))]


def train_bpe(
    pieces: Iterable[str], vocabulary: int, special: Sequence[str] | Sequence[hf.AddedToken] = ()
) -> Tokenizer:
    """Learns byte-pair encoding from text: the pair of tokens seen most often becomes a token, again and again.

    ``special`` tokens come first (ids 0, 1, …) and are never made from text. A short text may not yield as many tokens
    as asked for.
    """
    least = 256 + len(special)
    if vocabulary <= least:
        raise ValueError(
            f"the vocabulary of a BPE must be above {least} (every byte, and {len(special)} special tokens), "
            f"got {vocabulary}; try tokenizer='bpe-{least + 256}', or tokenizer='bytes'"
        )
    largest = 10_000_000  # the library allocates it at once, and ends the process where it cannot
    if vocabulary > largest:
        raise ValueError(
            f"the vocabulary of a BPE must be at most {largest:,}, got {vocabulary:,}; try tokenizer='bpe-4096'"
        )
    inner = hf.Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    inner.train_from_iterator(short_stretches(pieces), trainer)
    return BytePairs(inner)


def load_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
    """Reads a `tokenizer.json`, ours or of any Hugging Face checkpoint; a folder is searched for it.

    The settings that stand beside it (`tokenizer_config.json` and the like) are read too.
    """
    path = Path(path)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"a tokenizer must be a tokenizer.json or a folder with one, got {path}; give the file's path")
    try:
        found = parse_tokenizer(path.read_text(encoding="utf-8"))
    except Exception as error:  # the Rust library raises nothing more precise
        raise ValueError(
            f"a tokenizer must be a tokenizer.json of Hugging Face, got {path} ({error}); save it again"
        ) from error
    found.settings = read_settings(path.parent)
    return found


def parse_tokenizer(content: str) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`."""
    from cutaway.data.text.word_tokenizer import WORD_PATTERN, Words  # which is built on this file

    inner = hf.Tokenizer.from_str(content)
    settings = parse_json(content)
    model, pre = settings["model"], settings["pre_tokenizer"] or {}
    special = [token["content"] for token in settings["added_tokens"]]
    if model["type"] == "WordLevel" and pre.get("pattern") == {"Regex": _EVERY_CHARACTER}:
        unknown = UNKNOWN if UNKNOWN in model["vocab"] else "error"
        letters = (token for token in model["vocab"] if len(token) == 1)
        return _framed(Characters(letters, unknown, special), inner)
    if model["type"] == "WordLevel" and pre.get("pattern") == {"Regex": WORD_PATTERN}:
        return Words(inner)
    if model["type"] == "BPE" and not model["merges"] and model["vocab"] == _bytes_as_letters():
        return _framed(Bytes(special), inner)
    like_ours = pre.get("type") == "ByteLevel" and pre["use_regex"] and not pre["add_prefix_space"]
    if model["type"] == "BPE" and like_ours and not settings["normalizer"]:
        return BytePairs(inner)
    return Tokenizer(inner)


def _framed(tokenizer: Tokenizer, like: hf.Tokenizer) -> Tokenizer:
    """``tokenizer``, set to put the same special tokens around a whole text as ``like`` does."""
    if like.post_processor is not None:
        tokenizer.inner.post_processor = like.post_processor
    return tokenizer


def reads_special(text: str, special: bool | None) -> bool:
    """Whether special tokens in a text are read as tokens: as asked for, else in the text of a conversation."""
    return isinstance(text, ChatText) if special is None else special


@contextmanager
def _whole_characters(*texts: str) -> Iterator[None]:
    """Says which text has half a character, a surrogate without its partner: no tokenizer reads one."""
    try:
        yield
    except TypeError:
        for text in texts:
            if half := _HALF.search(text):
                near = text[max(0, half.start() - 20) : half.end() + 20]
                raise ValueError(
                    f"a text must be made of whole characters, got half of one at position {half.start():,} of "
                    f"{near!a}, which its file or program wrote wrong; mend or remove it"
                ) from None
        raise


def code_points(text: str) -> Integer[np.ndarray, "n"]:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)


def _bytes_as_letters() -> dict[str, int]:
    # The letters that ByteLevel writes for bytes: those that print stand for themselves, the others for 256, 257, …
    printing = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printing]
    letters = {byte: chr(byte) for byte in printing} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return {letters[byte]: byte for byte in range(256)}


__all__ = [
    "UNKNOWN",
    "BytePairs",
    "Bytes",
    "Characters",
    "Tokenizer",
    "code_points",
    "load_tokenizer",
    "parse_tokenizer",
    "train_bpe",
]
