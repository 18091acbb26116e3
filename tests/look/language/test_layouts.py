"""Layouts: the parts of a model by address."""

import pytest
import torch
from look.languages import ours, theirs

from cutaway.look import Layout
from cutaway.look.language.layouts import Parts


@pytest.mark.parametrize(
    ("make", "design", "norm", "unembed", "heads"),
    [
        (ours, "gpt2", "norm", None, "blocks.0.attention.out"),
        (ours, "llama", "norm", "unembed", "blocks.0.attention.out"),
        (theirs, "GPT2", "transformer.ln_f", "lm_head", "transformer.h.0.attn.c_proj"),
        (theirs, "Llama", "model.norm", "lm_head", "model.layers.0.self_attn.o_proj"),
        (theirs, "GPTNeoX", "gpt_neox.final_layer_norm", "lm_head", "gpt_neox.layers.0.attention.dense"),
    ],
)
def test_known_layouts(make, design: str, norm: str, unembed: str | None, heads: str):
    parts = Parts(make(design))
    assert (parts.layout.norm, parts.layout.unembed) == (norm, unembed)
    assert len(parts.layers) == 3
    assert parts.addresses("attention")[0] == heads
    assert parts.heads(heads) == 2


def test_wrappers_are_transparent():
    model = ours()
    compiled = torch.compile(model, backend="eager")
    assert Parts(compiled).layers == Parts(model).layers


def test_heads_that_are_given_count():
    assert Parts(ours(), Layout("blocks.*", "norm", None, heads=6)).heads("blocks.0.attention.out") == 6


def test_a_given_layout_is_taken_at_its_word():
    parts = Parts(ours("llama"), Layout("blocks.*", "norm", None, "embed"))
    x = torch.randn(2, 12, dtype=torch.float64)
    torch.testing.assert_close(parts.unembed(x), x @ parts.model.embed.weight.T)
