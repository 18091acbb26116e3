"""Tokenizers of checkpoints, from whichever files they came with."""

import json
import lzma
import unicodedata

import numpy as np
import pytest
import torch

from cutaway.data.text.tokenizers import BytePairs, Bytes, Characters, train_bpe
from cutaway.hub import from_pretrained, load_tokenizer, save_pretrained
from cutaway.hub.tokenizers import byte_pairs, find_tokenizer
from cutaway.models import GPT

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "caf", "##e", "Cat", ".", "中"]


@pytest.fixture(scope="module")
def gpt2_folder(data_folder, tmp_path_factory):
    folder, source = tmp_path_factory.mktemp("gpt2"), data_folder / "weights" / "gpt2_bpe"
    for name, stored in (("vocab.json", "encoder.json.xz"), ("merges.txt", "vocab.bpe.xz")):
        (folder / name).write_bytes(lzma.decompress((source / stored).read_bytes()))
    return folder


def test_gpt2(gpt2_folder, data_folder):
    tokenizer = load_tokenizer(gpt2_folder)
    assert isinstance(tokenizer, BytePairs)
    assert tokenizer.vocabulary == 50257
    cases = json.loads((data_folder / "weights" / "gpt2_bpe" / "golden.json").read_text())["cases"]
    assert len(cases) == 10
    for case in cases:
        assert tokenizer.encode(case["text"]).tolist() == case["ids"]
        assert tokenizer.decode(case["ids"]) == case["text"]
    assert tokenizer.decode([15496, 50256]) == "Hello", "the end of a text is no text"


def test_roberta_and_qwen_cut_as_transformers_does(gpt2_folder):
    """Both have GPT-2's files with other rules; marks that GPT-2's vocabulary has not stand behind it."""
    import transformers

    vocabulary = json.loads((gpt2_folder / "vocab.json").read_text())
    vocabulary |= {mark: len(vocabulary) + i for i, mark in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])}
    merges = [tuple(line.split()) for line in (gpt2_folder / "merges.txt").read_text().split("\n")[1:] if line]
    texts = [
        "cafe\u0301",
        "It's 1234 DON'T stop",
        "naïve  café\n\n x ",
        "Ça, c'est   l’été – 12.5%\r\n\tok",
        "日本語 text",
    ]
    roberta = byte_pairs(vocabulary, merges, "roberta")
    theirs = transformers.RobertaTokenizer(vocab=vocabulary, merges=merges)
    qwen = byte_pairs(vocabulary, merges, "qwen2")
    others = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges)
    for text in texts:
        assert roberta.encode_whole(text).tolist() == theirs(text)["input_ids"]
        assert qwen.encode(text).tolist() == others(text)["input_ids"]
        assert qwen.decode(qwen.encode(text)) == unicodedata.normalize("NFC", text)
    assert qwen.encode("12").size == 2, "digits one by one"


def test_minilm(data_folder):
    folder = data_folder / "weights" / "minilm_golden"
    tokenizer, golden = load_tokenizer(folder), np.load(folder / "golden.npz")
    sentences = json.loads((folder / "sentences.json").read_text())["sentences"]
    for text, ids, mask in zip(sentences, golden["input_ids"], golden["attention_mask"], strict=True):
        assert tokenizer.encode_whole(text).tolist() == ids[mask == 1].tolist()
        assert tokenizer.encode(text).tolist() == ids[mask == 1].tolist()[1:-1]
        assert tokenizer.decode(ids[mask == 1]) == text.lower()


def test_word_pieces_by_hand(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("The CATS. Café 中x").tolist() == [5, 6, 7, 11, 8, 9, 12, 1]
    assert tokenizer.encode_whole("cat").tolist() == [2, 6, 3]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert load_tokenizer(tmp_path).encode("the Cat The").tolist() == [5, 10, 1]


def test_vocabulary_without_marks(tmp_path):
    (tmp_path / "vocab.txt").write_text("a\n[UNK]\nb")
    with pytest.raises(
        ValueError, match=r"must hold \[UNK\], \[CLS\] and \[SEP\], got none of \[CLS\], \[SEP\]; is it"
    ):
        load_tokenizer(tmp_path)


def test_broken_byte_pairs(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\na b c\n")
    with pytest.raises(ValueError, match=r"merges.txt must hold two tokens a line, got 'a b c'; download"):
        load_tokenizer(tmp_path)
    (tmp_path / "merges.txt").write_text("a b\nb c\n")
    with pytest.raises(
        ValueError, match=r"merges.txt must join tokens of vocab.json, got others \(.*\); download both"
    ):
        load_tokenizer(tmp_path)


def test_added_tokens(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (tmp_path / "merges.txt").write_text("a b\n")
    added = {"4": {"content": "tool"}, "3": {"content": "<|im_end|>", "special": True}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.vocabulary == 5
    assert tokenizer.decode([2, 3, 4]) == "abtool"
    (tmp_path / "tokenizer_config.json").write_text('{"added_tokens_decoder": {"9": {"content": "x"}}}')
    with pytest.raises(ValueError, match=r"must follow the vocabulary, got 'x' as 9 where 3 is next; save"):
        load_tokenizer(tmp_path)


def test_no_tokenizer(tmp_path):
    assert find_tokenizer(tmp_path) is None
    with pytest.raises(ValueError, match=r"must come as tokenizer.json, .* got .* without any; is it the right folder"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "tokenizer", [Characters("hello wrd"), Bytes(), train_bpe(["hello world " * 9], 270)], ids=lambda t: t.kind
)
def test_ours_go_into_a_checkpoint_and_back(tokenizer, tmp_path):
    model = GPT(vocabulary=tokenizer.vocabulary, width=6, depth=1, heads=3, context=7)
    model.tokenizer = tokenizer
    save_pretrained(model, tmp_path)
    back = from_pretrained(tmp_path).tokenizer
    assert type(back) is type(tokenizer)
    assert back.encode("hello world").tolist() == tokenizer.encode("hello world").tolist()


def test_a_marking_tokenizer_goes_into_a_checkpoint_and_back(data_folder, tmp_path):
    import transformers

    tokenizer = load_tokenizer(data_folder / "weights" / "minilm_golden")
    tokenizer.save(tmp_path)
    back = load_tokenizer(tmp_path)
    text = "A feline rests [SEP] upon a rug."
    assert back.encode_whole(text).tolist() == tokenizer.encode_whole(text).tolist()
    plain = "A feline rests upon a rug."
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert theirs(plain)["input_ids"] == tokenizer.encode_whole(plain).tolist()


def test_marks_written_by_someone_are_text(data_folder):
    tokenizer = load_tokenizer(data_folder / "weights" / "minilm_golden")
    assert tokenizer.id_of("[SEP]") not in tokenizer.encode("one [SEP] two")


def test_a_model_finds_its_tokenizer(data_folder):
    model = from_pretrained(data_folder / "weights" / "tiny_t5_random")
    ids = torch.from_numpy(model.tokenizer.encode_whole("the cat"))
    assert ids.tolist()[-1] == model.tokenizer.id_of("</s>")
    assert model.encode(ids[None]).shape == (1, len(ids), 8)
