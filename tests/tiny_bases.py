"""Tiny checkpoints in the Hugging Face layout, and data to tune them to."""

import csv
import json
from pathlib import Path

import tokenizers as hf
import torch
from tokenizers import models, pre_tokenizers

from cutaway.data.text.special_tokens import SPECIAL_TOKENS, frame
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.hub import save_pretrained
from cutaway.models import BERT, GPT, BERTSpec, GPTSpec, ViT, ViTSpec

GOOD, BAD = ("fine", "great", "lovely", "warm"), ("poor", "dull", "cold", "awful")
OTHERS = ("the", "film", "was", "a", "story", "and", "very", "so", "plot", "it")


def word_tokenizer(more: tuple[str, ...] = ()) -> Tokenizer:
    """Words at spaces, with BERT's special tokens."""
    words = [*SPECIAL_TOKENS, "[UNK]", *OTHERS, *GOOD, *BAD, *more]
    inner = hf.Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.add_special_tokens([*SPECIAL_TOKENS])
    return frame(Tokenizer(inner))


def tiny_bert(folder: Path, depth: int = 2, dropout: float = 0.1, **changes: object) -> Path:
    """A BERT with random weights."""
    torch.manual_seed(1)
    tokenizer = word_tokenizer()
    sizes = dict(vocabulary=tokenizer.vocabulary, width=16, depth=depth, heads=2, context=32, dropout=dropout)
    model = BERT(BERTSpec.bert(**sizes).but(**changes))
    model.tokenizer = tokenizer
    return save_pretrained(model, folder)


def tiny_gpt(folder: Path, llama: bool = False) -> Path:
    """A GPT-2, or a Llama, with random weights."""
    torch.manual_seed(1)
    tokenizer = word_tokenizer()
    tokenizer.inner.post_processor = None
    make = GPTSpec.llama if llama else GPTSpec.gpt2
    model = GPT(make(vocabulary=tokenizer.vocabulary, width=16, depth=2, heads=2, context=32))
    model.tokenizer = tokenizer
    return save_pretrained(model, folder)


def tiny_vit(folder: Path, side: int = 8, channels: int = 1) -> Path:
    torch.manual_seed(1)
    return save_pretrained(
        ViT(ViTSpec.vit(image=side, patch=4, width=16, depth=2, heads=2, classes=3, channels=channels)), folder
    )


def reviews(path: Path, count: int = 60, seed: int = 0) -> Path:
    """A table of texts, one half with a good word in them and one half with a bad one."""
    draw = torch.Generator().manual_seed(seed)
    pick = lambda words: words[int(torch.randint(len(words), (), generator=draw))]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for i in range(count):
            filled = [pick(OTHERS) for _ in range(2 + i % 7)]
            filled.insert(int(torch.randint(len(filled), (), generator=draw)), pick(BAD if i % 2 else GOOD))
            writer.writerow([" ".join(filled) + f" {pick(OTHERS)}", "neg" if i % 2 else "pos"])
    return path


def chats(path: Path, count: int = 40) -> Path:
    """Questions and answers as JSON lines of messages."""
    with path.open("w", encoding="utf-8") as file:
        for i in range(count):
            asked, said = OTHERS[i % len(OTHERS)], (GOOD if i % 2 else BAD)[i % 4]
            question = f"the {asked} {OTHERS[i // len(OTHERS) % len(OTHERS)]}"  # each once: equal ones are in one part
            told = [{"role": "user", "content": question}, {"role": "assistant", "content": f"{said} {asked}"}]
            file.write(json.dumps({"messages": told}) + "\n")
    return path
