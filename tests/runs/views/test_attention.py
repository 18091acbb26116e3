"""Views of attention: where modules declare their weights, one pass for all of them, and layers that are left out."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cutaway.blocks import MultiHeadAttention
from cutaway.models import BERT, GPT, T5, Transformer, ViT
from cutaway.recipes import Subject
from cutaway.runs.views import attention

SIZES = dict(width=12, depth=2, heads=3)
OWN, WRITTEN, CROSS = ("tokens", "tokens"), ("written", "written"), ("written", "tokens")


@pytest.mark.parametrize(
    ("model", "declared"),
    [
        (GPT(vocabulary=11, context=7, **SIZES), {f"blocks.{i}.attention.weights": OWN for i in (0, 1)}),
        (BERT(vocabulary=11, context=7, **SIZES), {f"blocks.{i}.attention.weights": OWN for i in (0, 1)}),
        (ViT(image=8, patch=4, classes=5, **SIZES), {f"blocks.{i}.attention.weights": OWN for i in (0, 1)}),
        *(
            (
                model,
                {f"encoder.{i}.attention.weights": OWN for i in (0, 1)}
                | {f"decoder.{i}.attention.weights": WRITTEN for i in (0, 1)}
                | {f"decoder.{i}.cross.weights": CROSS for i in (0, 1)},
            )
            for model in (T5(vocabulary=11, **SIZES), Transformer(vocabulary=11, **SIZES))
        ),
        (nn.Linear(3, 2), {}),
    ],
    ids=lambda x: type(x).__name__,
)
def test_modules_declare_where_their_weights_are(model: nn.Module, declared: dict[str, tuple[str, str]]):
    assert attention.declared_attention(model) == declared


class Deep(nn.Module):
    """Attention that nobody knows by its name, in many layers; counts its passes."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.strange = nn.ModuleList(MultiHeadAttention(16, 8) for _ in range(depth))
        self.passes = 0

    def forward(self, x: Tensor) -> Tensor:
        self.passes += 1
        for layer in self.strange:
            x = x + layer(x)
        return x


def a_run(model: nn.Module) -> Any:
    return SimpleNamespace(model=model)


def test_one_pass_serves_all_views():
    model = Deep(3)
    subject = Subject((torch.randn(1, 5, 16),), "", tuple("abcab")).remembering()
    for view in (attention.attention, attention.heads, attention.telling_heads, attention.rollout):
        view(a_run(model), subject)
    assert subject.output(model).shape == (1, 5, 16)
    assert model.passes == 1


def test_layers_that_are_left_out_are_said():
    model = Deep(80)
    subject = Subject((torch.randn(1, 3, 16),), "", tuple("abc"))
    (grid,) = attention.attention(a_run(model), subject)
    assert grid.note.endswith("72 of 80 layers are shown, spread over the depth.")  # 576 heads of 8 a layer
    assert grid.alt.startswith("Attention maps of 576 heads in 72 layers")
    (scores,) = attention.heads(a_run(model), subject)
    assert scores.note.endswith("72 of 80 layers are shown, spread over the depth.")
    assert attention.rollout(a_run(model), subject) == []  # a product over all layers cannot leave some out
    (few,) = attention.attention(a_run(Deep(2)), subject)
    assert "layers are shown" not in few.note


def test_values_that_are_no_tokens_of_the_subject_have_no_names():
    model = ViT(image=8, patch=4, classes=5, **SIZES).eval()
    subject = Subject((torch.randn(1, 3, 8, 8),), "an image")
    (grid,) = attention.attention(a_run(model), subject)
    assert grid.title == "Attention of every head, over 5 tokens"
    assert attention.attention(a_run(model), Subject()) == []
