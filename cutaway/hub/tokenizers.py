r"""The tokenizer of a checkpoint, from whichever files it came with.

    tokenizer.json                          any, as it is
    vocab.json and merges.txt               byte-level BPE: GPT-2, RoBERTa, Qwen (Radford et al. 2019)
    vocab.txt                               WordPiece: BERT (Schuster & Nakajima 2012)
    spiece.model, tokenizer.model           SentencePiece: T5, Llama (Kudo & Richardson 2018)

All become the `Tokenizer` of cutaway.data; its `encode_whole` puts the marks around a text that the model expects.
"""

from pathlib import Path
from typing import Any

import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from cutaway.data.text.tokenizer_settings import Settings, read_settings
from cutaway.data.text.tokenizers import BytePairs, Tokenizer
from cutaway.data.text.tokenizers import load_tokenizer as load_json
from cutaway.hub.checkpoint_files import read_json
from cutaway.hub.sentencepiece import Kind, build_tokenizer, read_pieces

SENTENCEPIECE = ("spiece.model", "tokenizer.model")
# How Qwen cuts text into words: digits one by one, contractions in any case.
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer of a checkpoint folder."""
    found = find_tokenizer(folder)
    if found is None:
        raise ValueError(
            f"a tokenizer must come as tokenizer.json, vocab.json with merges.txt, vocab.txt or one of "
            f"{', '.join(SENTENCEPIECE)}, got {folder} without any; is it the right folder?"
        )
    return found


def find_tokenizer(folder: str | Path) -> Tokenizer | None:
    """The tokenizer of a checkpoint folder, with its settings, or None if there is none."""
    folder = Path(folder)
    if (folder / "tokenizer.json").is_file():
        return load_json(folder / "tokenizer.json")
    settings = read_settings(folder)
    found = _from_vocabulary(folder, settings)
    if found is not None:
        found.settings = settings
    return found


def _from_vocabulary(folder: Path, settings: Settings) -> Tokenizer | None:
    """Older checkpoints have the vocabulary alone; the model's type tells how text is cut."""
    config = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    family = str(config.get("model_type", ""))
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        vocabulary, merges = read_json(folder / "vocab.json"), read_merges(folder / "merges.txt")
        return byte_pairs(vocabulary, merges, family, settings)
    if (folder / "vocab.txt").is_file():
        return word_pieces((folder / "vocab.txt").read_text(encoding="utf-8").split("\n"), settings)
    for name in SENTENCEPIECE:
        if (folder / name).is_file():
            size = config["vocab_size"] if isinstance(config.get("vocab_size"), int) else 0
            return sentence_pieces((folder / name).read_bytes(), family, size, settings)
    return None


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Pairs of tokens that are joined, the first first; the file may begin with its version."""
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#version")]
    pairs = [tuple(line.split(" ")) for line in lines]
    if any(len(pair) != 2 for pair in pairs):
        wrong = next(line for line, pair in zip(lines, pairs) if len(pair) != 2)
        raise ValueError(f"{path.name} must hold two tokens a line, got {wrong[:40]!r}; download it again")
    return [(first, second) for first, second in pairs]


def byte_pairs(
    vocabulary: dict[str, int],
    merges: list[tuple[str, str]],
    family: str = "gpt2",
    settings: dict[str, Any] | None = None,
) -> Tokenizer:
    """Byte-level BPE. ``family``, the model's type, decides how text is cut into words and what stands around it."""
    try:
        inner = hf.Tokenizer(models.BPE(vocabulary, merges))
    except Exception as error:  # the Rust library raises nothing more precise
        raise ValueError(
            f"merges.txt must join tokens of vocab.json, got others ({error}); download both again"
        ) from None
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    if family.startswith("qwen"):
        inner.normalizer = normalizers.NFC()
        inner.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(hf.Regex(QWEN_WORDS), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    known = [name for name in ("<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>") if name in vocabulary]
    inner.add_special_tokens([hf.AddedToken(name, special=True) for name in known])
    _add_tokens(inner, settings or {})
    if "roberta" in family:
        set_marks(inner, "<s>", "</s>")
        return Tokenizer(inner, "bpe")
    return Tokenizer(inner, "bpe") if family.startswith("qwen") else BytePairs(inner)


def _add_tokens(inner: hf.Tokenizer, settings: dict[str, Any]) -> None:
    """Tokens that were added to a vocabulary later, such as those of conversations."""
    for number, token in sorted(settings.get("added_tokens_decoder", {}).items(), key=lambda pair: int(pair[0])):
        added = hf.AddedToken(token["content"], special=token.get("special", False), normalized=False)
        (inner.add_special_tokens if added.special else inner.add_tokens)([added])
        if inner.token_to_id(token["content"]) != int(number):
            raise ValueError(
                f"added tokens must follow the vocabulary, got {token['content']!r} as {number} where "
                f"{inner.token_to_id(token['content'])} is next; save the tokenizer as tokenizer.json"
            )


def word_pieces(lines: list[str], settings: dict[str, Any] | None = None) -> Tokenizer:
    """BERT's WordPiece, a line of vocab.txt for each token; uncased unless ``settings`` have do_lower_case false."""
    settings = settings or {}
    tokens = [line.rstrip("\r") for line in lines]
    vocabulary = {token: i for i, token in enumerate(tokens) if token}
    missing = [name for name in ("[UNK]", "[CLS]", "[SEP]") if name not in vocabulary]
    if missing:
        raise ValueError(f"vocab.txt must hold [UNK], [CLS] and [SEP], got none of {', '.join(missing)}; is it BERT's?")
    inner = hf.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    special = [name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if name in vocabulary]
    inner.add_special_tokens([hf.AddedToken(name, special=True) for name in special])
    set_marks(inner, "[CLS]", "[SEP]")
    return Tokenizer(inner, "wordpiece")


def sentence_pieces(
    content: bytes, family: str = "", vocabulary: int = 0, settings: Settings | None = None
) -> Tokenizer:
    """A SentencePiece model. A T5 ends its texts with </s> and may have sentinels, a Llama starts them with <s>.

    ``vocabulary`` is the model's: sentinels are added where it has room for them, as T5's has.
    """
    found = read_pieces(content)
    inner = build_tokenizer(found)
    control = found.named(Kind.CONTROL)
    if family == "t5":
        sentinels = [f"<extra_id_{i}>" for i in range(99, -1, -1)]
        if vocabulary >= len(found.pieces) + len(sentinels):
            inner.add_special_tokens([hf.AddedToken(name, special=True) for name in sentinels])
        if "</s>" in control:
            set_marks(inner, None, "</s>")
    elif family == "llama" and "<s>" in control and (settings or {}).get("add_bos_token", True):
        set_marks(inner, "<s>", None)
    return Tokenizer(inner, "bpe" if found.bpe else "unigram")


def set_marks(inner: hf.Tokenizer, first: str | None, last: str | None) -> None:
    """What stands before and behind every whole text."""
    marks = [mark for mark in (first, last) if mark is not None]
    frame = " ".join([*([first] if first else []), "$A", *([last] if last else [])])
    inner.post_processor = processors.TemplateProcessing(
        single=frame, special_tokens=[(mark, inner.token_to_id(mark)) for mark in marks]
    )


__all__ = ["find_tokenizer", "load_tokenizer"]
