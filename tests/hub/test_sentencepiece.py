"""SentencePiece models, read from the bytes that its format prescribes, against cuts found by trying all."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.hub.sentencepiece import Kind, Pieces, build_tokenizer, read_pieces
from cutaway.hub.tokenizers import sentence_pieces

SMALL = [
    ("<unk>", 0.0, Kind.UNKNOWN),
    ("<s>", 0.0, Kind.CONTROL),
    ("</s>", 0.0, Kind.CONTROL),
    ("▁", -3.0, Kind.NORMAL),
    ("a", -2.0, Kind.NORMAL),
    ("b", -2.5, Kind.NORMAL),
    ("▁a", -2.2, Kind.NORMAL),
    ("ab", -3.1, Kind.NORMAL),
    ("▁ab", -4.0, Kind.NORMAL),
    ("ba", -3.3, Kind.NORMAL),
    ("aba", -3.9, Kind.NORMAL),
]


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def part(number: int, value: int | float | bytes) -> bytes:
    """One field of a protobuf message: wire type 0 for whole numbers, 5 for floats, 2 for bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write(
    pieces: list[tuple[str, float, Kind]], bpe: bool = False, prefix: bool = True, one_space: bool = True
) -> bytes:
    told = [part(1, part(1, text.encode()) + part(2, score) + part(3, int(kind))) for text, score, kind in pieces]
    trainer = part(2, part(2, b"name") + part(3, 2 if bpe else 1) + part(4, len(pieces)))
    normalizer = part(3, part(1, b"identity") + part(3, int(prefix)) + part(4, int(one_space)))
    return b"".join(told) + trainer + normalizer


def every_cut(text: str) -> list[list[str]]:
    if not text:
        return [[]]
    return [[text[:n], *rest] for n in range(1, len(text) + 1) for rest in every_cut(text[n:])]


def test_what_is_written_is_read():
    found = read_pieces(write(SMALL, bpe=True, prefix=False, one_space=False))
    assert [(text, pytest.approx(score, abs=1e-6), kind) for text, score, kind in SMALL] == found.pieces
    assert found.bpe
    assert not found.dummy_prefix
    assert not found.one_space


def test_what_is_left_out_has_the_defaults_of_the_format():
    content = part(1, part(1, b"<unk>") + part(3, 2)) + part(1, part(1, "é".encode()) + part(2, -1.5))
    found = read_pieces(content)
    assert found == Pieces([("<unk>", 0.0, Kind.UNKNOWN), ("é", -1.5, Kind.NORMAL)])


@given(st.text("ab ", max_size=9))
def test_unigram_takes_the_best_of_all_cuts(text: str):
    """Over words with the space before them; SentencePiece never cuts across."""
    scores = {piece: score for piece, score, kind in SMALL if kind == Kind.NORMAL}
    words = ["▁" + word for word in text.split()]
    best = sum(
        max(sum(scores[p] for p in cut) for cut in every_cut(word) if all(p in scores for p in cut)) for word in words
    )
    tokenizer = sentence_pieces(write(SMALL))
    pieces = [SMALL[i][0] for i in tokenizer.encode(text)]
    assert "".join(pieces) == "".join(words)
    assert sum(scores[piece] for piece in pieces) == pytest.approx(best, abs=1e-5)
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(text.split())


def join_best(text: str) -> list[str]:
    """BPE by its definition: join the neighbours whose union has the best score, leftmost first, until none has any."""
    scores = {piece: score for piece, score, kind in SMALL if kind == Kind.NORMAL}
    parts = list(text)
    while True:
        unions = [(scores[a + b], -i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in scores]
        if not unions:
            return parts
        i = -max(unions)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@given(st.text("ab ", max_size=9))
def test_bpe_joins_the_best_first(text: str):
    tokenizer = sentence_pieces(write(SMALL, bpe=True, one_space=False))
    pieces = [SMALL[i][0] for i in tokenizer.encode(text)]
    spaced = ("▁" + text.replace(" ", "▁")) if text else ""
    assert pieces == join_best(spaced)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bytes_stand_in_for_characters_without_a_piece():
    bytes_too = SMALL + [(f"<0x{i:02X}>", 0.0, Kind.BYTE) for i in range(256)]
    for bpe in (False, True):
        tokenizer = sentence_pieces(write(bytes_too, bpe=bpe))
        ids = tokenizer.encode("a€b")
        assert [bytes_too[i][0] for i in ids][1:4] == ["<0xE2>", "<0x82>", "<0xAC>"]  # the euro sign in UTF-8
        assert tokenizer.decode(ids) == "a€b"


def test_characters_without_a_piece_are_unknown():
    assert sentence_pieces(write(SMALL)).encode("a€b").tolist() == [6, 0, 5]


def test_marks_by_family():
    assert sentence_pieces(write(SMALL), "t5").encode_whole("ab").tolist() == [8, 2]
    assert sentence_pieces(write(SMALL, bpe=True), "llama").encode_whole("ab").tolist()[:1] == [1]
    bare = sentence_pieces(write(SMALL))
    assert bare.encode_whole("ab").tolist() == bare.encode("ab").tolist()
    settings = {"add_bos_token": False}
    assert sentence_pieces(write(SMALL, bpe=True), "llama", settings=settings).encode_whole("ab").tolist()[:1] != [1]


def test_sentinels_where_the_model_has_room():
    small, large = (sentence_pieces(write(SMALL), "t5", vocabulary=n) for n in (110, 111))
    assert small.vocabulary == 11
    assert large.vocabulary == 111
    assert large.id_of("<extra_id_0>") == 110
    assert large.id_of("<extra_id_99>") == 11


def test_user_defined_pieces_come_first():
    tokenizer = sentence_pieces(write([*SMALL, ("aab", 0.0, Kind.USER)]))
    assert 11 in tokenizer.encode("baabb").tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a model",
        write(SMALL)[:-3],
        write(SMALL)[:50],
        write(SMALL[1:]),  # nothing is unknown
        write(SMALL).replace(part(3, 1) + part(4, 11), part(3, 4) + part(4, 11)),  # characters
    ],
)
def test_broken_models(content: bytes):
    with pytest.raises(ValueError, match=r"must be a whole file of the kinds unigram or BPE, got one .*; download it"):
        read_pieces(content)


def test_real_model_against_the_pipeline_of_transformers(data_folder):
    """Transformers cannot read the file here, but builds its pipeline from pieces; its unknown token is always 2."""
    import transformers

    content = (data_folder / "weights" / "tiny_t5_random" / "spiece.model").read_bytes()
    found = read_pieces(content)
    assert len(found.pieces) == 1024
    assert len(found.charsmap) == 237_561
    ours = build_tokenizer(found)
    theirs = transformers.T5Tokenizer(
        vocab=[(text, score) for text, score, _ in found.pieces], _spm_precompiled_charsmap=found.charsmap, extra_ids=0
    )
    for text in [
        "the cat and Stephen",
        "  The  cat,\tﬁne ½ naïve\nlines ",
        "q\u3000q ①②",
        "Ünïcode — “quotes” and ﷺ",
        "",
    ]:
        other = [0 if i == 2 else i for i in theirs(text, add_special_tokens=False)["input_ids"]]
        assert ours.encode(text, add_special_tokens=False).ids == other
