"""Tokenizers by hand, against the Hugging Face libraries that read their files, and by their laws."""

import json
import lzma
import subprocess
import sys

import numpy as np
import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from cutaway.data.text import chunks
from cutaway.data.text import tokenizers as ours
from cutaway.data.text.chunks import cut_safely
from cutaway.data.text.tokenizers import (
    BytePairs,
    Bytes,
    Characters,
    Tokenizer,
    load_tokenizer,
    parse_tokenizer,
    train_bpe,
)

WORDS = "the cat sat on the mat, the cat's hat; naïve café — 東京 😀 1234 times\n\n\tand that's that!  "
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80)
SPACED = st.text(alphabet="ab'.1é \n\t\r\u00a0\u3000\x1c", max_size=60)


@pytest.fixture(scope="module")
def bpe():
    return train_bpe([WORDS * 3], 300)


def unpacked(path):
    return lzma.decompress(path.read_bytes()).decode()


def made(kind):
    return {"characters": Characters(WORDS), "bytes": Bytes(), "bpe": train_bpe([WORDS * 3], 300)}[kind]


KINDS = ["characters", "bytes", "bpe"]


def test_characters_by_hand():
    tokenizer = Characters("hello\n")
    assert tokenizer.vocabulary == 5  # \n e h l o, in the order of their code points
    assert tokenizer.encode("hole\n").tolist() == [2, 4, 3, 1, 0]
    assert tokenizer.decode([2, 4, 3, 1, 0]) == "hole\n"


def test_bytes_by_hand():
    assert Bytes().encode("aé").tolist() == [97, 0xC3, 0xA9]
    assert Bytes().decode([97, 0xC3]) == "a\ufffd"  # half a character, as a model may write it
    assert Bytes().vocabulary == 256


def test_bpe_by_hand():
    # "ab" is the commonest pair of "ab ab abc", then " ab" (space+ab), so these two become tokens 256 and 257
    tokenizer = train_bpe(["ab ab abc"], 258)
    space_ab, ab = tokenizer.id_of("Ġab"), tokenizer.id_of("ab")
    assert sorted([ab, space_ab]) == [256, 257]
    assert tokenizer.encode("ab abc").tolist() == [ab, space_ab, tokenizer.id_of("c")]


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_through_text(kind):
    tokenizer = made(kind)
    assert tokenizer.decode(tokenizer.encode(WORDS)) == WORDS
    assert tokenizer.encode("").tolist() == []
    assert tokenizer.decode([]) == ""


@given(TEXTS)
def test_bytes_and_bpe_take_any_text(text):
    assert Bytes().decode(Bytes().encode(text)) == text
    tokenizer = train_bpe([WORDS], 270)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_reads_to_the_same_ids_everywhere(tmp_path, kind):
    tokenizer = made(kind)
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert type(again) is type(tokenizer)
    assert again.key == tokenizer.key
    peer = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in (WORDS, "the cat", "\n\n  cat\n", ""):
        ids = tokenizer.encode(text).tolist()
        assert again.encode(text).tolist() == ids
        assert peer.encode(text).ids == ids
        assert peer.decode(ids) == text
        assert fast(text, add_special_tokens=False)["input_ids"] == ids
        assert fast.decode(ids, clean_up_tokenization_spaces=False) == text
    assert peer.get_vocab_size() == tokenizer.vocabulary == again.vocabulary


def test_unknown_characters(tmp_path):
    with pytest.raises(
        ValueError, match=r"made of the 3 characters that the model was trained on, got 'é' at position 2;"
    ):
        Characters("abc").encode("abéc")
    tokenizer = Characters("abc", unknown="<unk>")
    assert tokenizer.encode("abé😀c").tolist() == [0, 1, 3, 3, 2]
    assert tokenizer.decode([0, 3]) == "a<unk>"
    tokenizer.save(tmp_path / "t.json")
    assert hf.Tokenizer.from_file(str(tmp_path / "t.json")).encode("abé😀c").ids == [0, 1, 3, 3, 2]
    assert load_tokenizer(tmp_path / "t.json").encode("😀").tolist() == [3]
    with pytest.raises(ValueError, match="unknown must be one of error, <unk>, got 'skip'"):
        Characters("abc", unknown="skip")


def test_half_of_a_surrogate_pair_is_unknown_not_a_crash():
    with pytest.raises(ValueError, match=r"got '\\ud800' at position 1"):
        Characters("abc").encode("a\ud800")
    assert Bytes().encode("a\ud800").tolist() == [97, 63]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_out_of_range(kind):
    tokenizer = made(kind)
    with pytest.raises(
        ValueError, match=f"ids must lie from 0 to {tokenizer.vocabulary - 1}, got 9999; decode with the"
    ):
        tokenizer.decode([0, 9999])


def test_special_tokens_come_first_and_never_from_text():
    tokenizer = train_bpe([WORDS], 300, special=["<pad>", "<end>"])
    assert [tokenizer.id_of(token) for token in ("<pad>", "<end>")] == [0, 1]
    ids = tokenizer.encode("a <pad> b")
    assert 0 not in ids
    assert tokenizer.decode([0, *ids, 1]) == "a <pad> b"
    again = parse_tokenizer(tokenizer.to_json())
    assert again.encode("a <pad> b").tolist() == ids.tolist()
    with pytest.raises(ValueError, match="the vocabulary must hold '<mask>', it does not; train the tokenizer with it"):
        tokenizer.id_of("<mask>")


@pytest.mark.parametrize("plain", [Characters("abc"), Bytes()])
def test_special_tokens_of_characters_and_bytes_come_last(plain, tmp_path):
    special = ["[CLS]", "[MASK]"]
    tokenizer = Characters("abc", special=special) if isinstance(plain, Characters) else Bytes(special)
    size = plain.vocabulary
    assert [tokenizer.id_of(name) for name in special] == [size, size + 1]
    assert tokenizer.vocabulary == size + 2
    assert tokenizer.encode("cab").tolist() == plain.encode("cab").tolist()
    assert tokenizer.decode([size, *plain.encode("ab"), size + 1]) == "ab"  # they only steer a model
    again = parse_tokenizer(tokenizer.to_json())
    assert (type(again), again.key) == (type(plain), tokenizer.key)
    theirs = hf.Tokenizer.from_str(tokenizer.to_json())
    assert theirs.encode("a[MASK]b").ids == [*plain.encode("a"), size + 1, *plain.encode("b")]


def test_bpe_needs_room_for_every_byte():
    with pytest.raises(
        ValueError, match=r"must be above 257 \(every byte, and 1 special tokens\), got 257; try tokenizer='bpe-513'"
    ):
        train_bpe([WORDS], 257, special=["<pad>"])


def test_bpe_is_the_same_in_every_process(bpe):
    code = f"from cutaway.data.text.tokenizers import train_bpe; print(train_bpe([{WORDS * 3!r}], 300).key)"
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == bpe.key


@given(st.lists(SPACED, max_size=12))
def test_a_text_in_pieces_has_the_ids_of_the_whole(pieces):
    tokenizer = train_bpe([WORDS * 3], 300)
    before = chunks._SHORTEST, ours._WORDS
    chunks._SHORTEST, ours._WORDS = 5, 4  # cut often, and forget often
    try:
        cut = list(cut_safely(pieces))
        found = [i for ids in tokenizer.encode_pieces(pieces) for i in ids.tolist()]
        plainly = [i for ids in Tokenizer.encode_pieces(tokenizer, pieces) for i in ids.tolist()]
    finally:
        chunks._SHORTEST, ours._WORDS = before
    whole = tokenizer.encode("".join(pieces)).tolist()
    assert "".join(cut) == "".join(pieces)
    assert found == whole
    assert plainly == whole


@pytest.mark.parametrize("kind", KINDS)
def test_real_text_in_pieces(kind, data_folder):
    text = unpacked(data_folder / "text" / "kjv.txt.xz")[:400_000]
    tokenizer = (
        Characters(text) if kind == "characters" else Bytes() if kind == "bytes" else train_bpe([text[:50_000]], 600)
    )
    pieces = [text[i : i + 30_011] for i in range(0, len(text), 30_011)]
    found = np.concatenate(list(tokenizer.encode_pieces(pieces)))
    assert np.array_equal(found, tokenizer.encode(text))
    assert tokenizer.decode(found) == text


def test_a_tokenizer_from_elsewhere_in_pieces(data_folder, tmp_path, monkeypatch):
    words = (data_folder / "weights" / "minilm_golden" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    inner = hf.Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert (type(tokenizer), tokenizer.kind, tokenizer.vocabulary) == (Tokenizer, "loaded", 30_522)
    text = unpacked(data_folder / "text" / "kjv.txt.xz")[:50_000]
    monkeypatch.setattr(chunks, "_SHORTEST", 100)
    found = np.concatenate(list(tokenizer.encode_pieces([text[i : i + 997] for i in range(0, len(text), 997)])))
    assert np.array_equal(found, tokenizer.encode(text))


def test_gpt2_has_its_known_ids(data_folder):
    folder = data_folder / "weights" / "gpt2_bpe"
    vocabulary = json.loads(unpacked(folder / "encoder.json.xz"))
    lines = unpacked(folder / "vocab.bpe.xz").split("\n")[1:]
    merges = [tuple(line.split(" ")) for line in lines if line]
    inner = hf.Tokenizer(models.BPE(vocabulary, merges))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = parse_tokenizer(inner.to_str())
    assert isinstance(tokenizer, BytePairs)
    golden = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    for case in golden["cases"]:
        assert tokenizer.encode(case["text"]).tolist() == case["ids"]
        assert np.concatenate(list(tokenizer.encode_pieces([case["text"]]))).tolist() == case["ids"]


def test_what_is_no_tokenizer(tmp_path):
    with pytest.raises(
        ValueError, match=r"must be a tokenizer.json or a folder with one, got .*tokenizer.json; give the"
    ):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"must be a tokenizer.json of Hugging Face, got .* \(.*\); save it again"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("make", [lambda: train_bpe([WORDS * 3], 300, ["<pad>"]), lambda: Bytes(["<pad>"])])
def test_many_rows_are_decoded_as_one_by_one(make):
    tokenizer = make()
    rows = [[i] for i in range(tokenizer.vocabulary)] + [[], [40, 41, 42]]
    assert tokenizer.decode_each(rows) == [tokenizer.decode(row) for row in rows]
    with pytest.raises(ValueError, match=f"ids must lie from 0 to {tokenizer.vocabulary - 1}, got 999"):
        tokenizer.decode_each([[1], [999]])


@pytest.mark.parametrize("make", [lambda: Characters("abc ", special=["<s>", "<e>"]), lambda: Bytes(["<s>", "<e>"])])
def test_special_tokens_both_ways(make):
    tokenizer = make()
    start, end = tokenizer.id_of("<s>"), tokenizer.id_of("<e>")
    plain = tokenizer.encode("a b").tolist()
    assert tokenizer.encode("<s>a b<e>", special=True).tolist() == [start, *plain, end]
    assert tokenizer.decode([start, *plain, end]) == "a b"
    assert tokenizer.decode([start, *plain, end], special=True) == "<s>a b<e>"
    assert tokenizer.special_tokens == {"<s>": start, "<e>": end}


def test_special_tokens_do_not_hide_unknown_characters():
    with pytest.raises(ValueError, match=r"text must be made of the 3 characters .*, got 'x' at position 0"):
        Characters("abc", special=["<s>"]).encode("<s>x", special=True)
