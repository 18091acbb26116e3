r"""SentencePiece models: a protobuf file that holds a vocabulary with scores, and how text is normalised.

    unigram     argmax over cuts of the text into pieces of Σ score(piece)      (Kudo 2018)
    BPE         join the neighbours whose union has the best score, repeat      (Sennrich et al. 2016)

`read_pieces` reads the few fields that matter (numbered as in sentencepiece_model.proto; Kudo & Richardson 2018), and
`build_tokenizer` makes a `tokenizers.Tokenizer` of them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers

SPACE = "▁"  # stands for a space inside pieces


class Kind(IntEnum):
    """What a piece is for."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3  # <s> and the like, never made from text
    USER = 4  # found in text before anything else
    UNUSED = 5
    BYTE = 6  # <0x0A>: for characters that have no piece


@dataclass
class Pieces:
    """What a SentencePiece model says. The defaults are those of the format, which leaves them out of the file."""

    pieces: list[tuple[str, float, Kind]] = field(default_factory=list)
    bpe: bool = False
    charsmap: bytes = b""  # compiled rules, such as NFKC
    dummy_prefix: bool = True  # a space before the text
    one_space: bool = True  # spaces at the ends go, several become one

    def named(self, kind: Kind) -> list[str]:
        return [piece for piece, _, its in self.pieces if its == kind]


def read_pieces(content: bytes) -> Pieces:
    """The model in a `spiece.model` or `tokenizer.model`."""
    found = Pieces()
    try:
        for number, value in _fields(content):
            if number == 1:  # a piece: text, score, kind
                parts = dict(_fields(_bytes(value)))
                (score,) = struct.unpack("<f", _bytes(parts.get(2, bytes(4))))
                found.pieces.append((_bytes(parts[1]).decode(), score, Kind(int(parts.get(3, 1)))))
            elif number == 2:  # how it was trained: of what kind it is
                kind = int(dict(_fields(_bytes(value))).get(3, 1))
                if kind not in (1, 2):
                    raise ValueError(f"it is of kind {kind}")
                found.bpe = kind == 2
            elif number == 3:  # how text is normalised
                parts = dict(_fields(_bytes(value)))
                found.charsmap = _bytes(parts.get(2, b""))
                found.dummy_prefix, found.one_space = bool(parts.get(3, 1)), bool(parts.get(4, 1))
        if not found.pieces or len(found.named(Kind.UNKNOWN)) != 1:
            raise ValueError("no vocabulary with one unknown piece")
    except (ValueError, IndexError, KeyError, TypeError, struct.error) as error:
        raise ValueError(
            f"a SentencePiece model must be a whole file of the kinds unigram or BPE, got one that does not read "
            f"({error}); download it again, or save the tokenizer as tokenizer.json"
        ) from None
    return found


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers as int, all else as its bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield number, value
            continue
        if wire == 2:
            size, place = _varint(message, place)
        else:
            size = {1: 8, 5: 4}[wire]
        if place + size > len(message):
            raise ValueError(f"it ends inside field {number}")
        yield number, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"the number {value} where bytes belong")
    return value


def build_tokenizer(found: Pieces) -> hf.Tokenizer:
    """The same cuts by the `tokenizers` library; marks around a text are not set."""
    inner = hf.Tokenizer(_bpe(found) if found.bpe else _unigram(found))
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(found.charsmap)] if found.charsmap else []
    if found.one_space:
        steps += [
            normalizers.Replace(hf.Regex("^ +| +$"), ""),
            normalizers.Replace(hf.Regex(" {2,}"), " "),
        ]
    strip = 1 if found.dummy_prefix else 0
    if found.bpe:  # over the whole text: pieces of several spaces are common here
        steps += [normalizers.Prepend(SPACE)] if found.dummy_prefix else []
        steps.append(normalizers.Replace(" ", SPACE))
    else:
        scheme = "always" if found.dummy_prefix else "never"
        inner.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme=scheme, split=True)
    inner.normalizer = normalizers.Sequence(steps)
    inner.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", strip, 0)]
    )
    inner.add_special_tokens(
        [hf.AddedToken(p, special=True) for p in found.named(Kind.UNKNOWN) + found.named(Kind.CONTROL)]
    )
    inner.add_tokens([hf.AddedToken(piece, normalized=False) for piece in found.named(Kind.USER)])
    return inner


def _unigram(found: Pieces) -> models.Unigram:
    unknown = next(i for i, (_, _, kind) in enumerate(found.pieces) if kind == Kind.UNKNOWN)
    scores = [(piece, score) for piece, score, _ in found.pieces]
    return models.Unigram(scores, unknown, byte_fallback=bool(found.named(Kind.BYTE)))


def _bpe(found: Pieces) -> models.BPE:
    ids = {piece: i for i, (piece, _, _) in enumerate(found.pieces)}
    # The best score is joined first; each way to cut the piece in two is a way to get it.
    ranked = sorted((-score, ids[piece], piece) for piece, score, kind in found.pieces if kind == Kind.NORMAL)
    merges = [
        (piece[:cut], piece[cut:])
        for _, _, piece in ranked
        for cut in range(1, len(piece))
        if piece[:cut] in ids and piece[cut:] in ids
    ]
    (unknown,) = found.named(Kind.UNKNOWN)
    return models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=bool(found.named(Kind.BYTE)))
