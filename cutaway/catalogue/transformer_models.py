"""Transformers, as small as they come; one entry for each design that takes another way through the code."""

from typing import Any

import torch

from cutaway.models import (
    BERT,
    GPT,
    T5,
    BERTSpec,
    GPTSpec,
    HeadSpec,
    MaskedViT,
    MaskedViTSpec,
    PositionSpec,
    Transformer,
    ViT,
    ViTSpec,
)
from cutaway.registry import register

SIZES: dict[str, Any] = dict(vocabulary=11, width=6, depth=1, heads=3, context=7)


def tokens(length: int = 5) -> torch.Tensor:
    return torch.randint(0, 11, (2, length))


def padding() -> torch.Tensor:
    return torch.tensor([[True] * 5, [False, False, True, True, True]])


def bert(head: HeadSpec | None) -> BERT:
    return BERT(BERTSpec.bert(**SIZES, head=head))


def gpt(**changes: Any) -> GPT:
    return GPT(GPTSpec.gpt2(**SIZES).but(**changes))


register(GPT, example=lambda: (GPT(**SIZES | dict(depth=2)), tokens()))
register(GPT, name="GPT (Llama)", example=lambda: (GPT.llama(**SIZES, kv_heads=1, hidden=5), tokens(), padding()))
register(GPT, name="GPT (quick)", example=lambda: (GPT(GPTSpec.quick(**SIZES)), tokens()), kinks="ReLU² bends at 0")
register(
    GPT,
    name="GPT (packed)",
    example=lambda: (gpt(position=PositionSpec("sinusoidal")), tokens(), None, torch.tensor([[0, 0, 1, 1, 1]] * 2)),
)
register(
    GPT,
    name="GPT (ALiBi)",
    example=lambda: (gpt(position=PositionSpec("alibi"), order="parallel", head__tied=False), tokens()),
)
register(
    GPT,
    name="GPT (classes)",
    example=lambda: (gpt(head=HeadSpec("classes", classes=5), attention__window=2, order="post"), tokens(), padding()),
)
register(BERT, example=lambda: (bert(None), tokens(), torch.tensor([[0, 0, 1, 1, 1]] * 2)))
register(BERT, name="BERT (masked)", example=lambda: (bert(HeadSpec("masked")), tokens(), None, padding()))
register(
    BERT,
    name="BERT (classes)",
    example=lambda: (bert(HeadSpec("classes", classes=5, hidden=True, pooling="attention")), tokens(), None, padding()),
)
register(BERT, name="BERT (tags)", example=lambda: (bert(HeadSpec("tags", classes=5)), tokens()))
register(
    Transformer,
    example=lambda: (Transformer(**SIZES, dropout=0.0), tokens(), tokens(3)),
    kinks="ReLU bends at 0",
)
register(
    T5,
    example=lambda: (
        T5(vocabulary=11, width=6, depth=1, heads=3, head_width=5, gated=True),
        tokens(),
        tokens(3),
        padding(),
    ),
)
register(
    ViT,
    example=lambda: (ViT(image=6, patch=3, channels=2, width=6, depth=1, heads=3, classes=5), torch.randn(2, 2, 6, 6)),
)
register(
    ViT,
    name="ViT (scaled)",
    example=lambda: (
        ViT(ViTSpec.vit(image=6, patch=3, channels=2, width=6, depth=1, heads=3, classes=5).but(scaled=True)),
        torch.rand(2, 2, 6, 6),
    ),
)
_HEADLESS = ViTSpec.vit(image=6, patch=3, channels=2, width=6, depth=1, heads=3)
register(
    MaskedViT,
    example=lambda: (
        MaskedViT(MaskedViTSpec(_HEADLESS, width=6, heads=2)),
        torch.randn(2, 2, 6, 6),
        torch.tensor([[0, 3], [1, 2]]),
    ),
)
