"""Direct logit attribution: the parts add up, and each is the change in the logit when its part is left out."""

import numpy as np
import pytest
import torch
from look.languages import OURS, THEIRS, TOKENS, logits_of, ours
from torch import nn

import cutaway as cut
from cutaway.look import Layout, logit_contributions
from cutaway.look.language.logit_attribution import frozen_norm

ANSWER, WRONG = 7, 21


@pytest.mark.parametrize("wrong", [None, WRONG])
@pytest.mark.parametrize("name", [*OURS, "GPT2", "GPTNeoX"])
def test_the_parts_add_up_to_the_logit(name: str, wrong: int | None):
    model = (OURS | THEIRS)[name]()
    found = logit_contributions(model, TOKENS, ANSWER, wrong)
    logits = logits_of(model, TOKENS)[-1]
    want = logits[ANSWER] - (0 if wrong is None else logits[wrong])
    parts = [found.embedding, found.positions, *found.heads.ravel(), *found.mlps, found.bias]
    assert sum(parts) == pytest.approx(want.item(), abs=1e-12)
    assert sum(found.by_part().values()) == pytest.approx(want.item(), abs=1e-12)
    assert found.total == pytest.approx(want.item(), abs=1e-12)
    assert found.heads.shape == ((1 if name == "one layer" else 3), 2)
    assert (found.positions == 0) == (name in ("llama", "quick", "GPTNeoX"))


@pytest.mark.parametrize("name", ["Llama", "Qwen3"])
def test_norms_that_compute_in_float32(name: str):
    model = THEIRS[name]()
    found = logit_contributions(model, TOKENS, ANSWER)
    assert sum(found.by_part().values()) == pytest.approx(logits_of(model, TOKENS)[-1, ANSWER].item(), abs=1e-5)


@pytest.mark.parametrize("design", ["gpt2", "llama"])
@pytest.mark.parametrize("position", [-1, 2])
def test_a_head_is_what_the_last_norm_and_unembedding_make_of_it(design: str, position: int):
    """Independently: the last norm's input loses what one head of the last layer wrote, its scale kept by a patch."""
    model = ours(design)
    found = logit_contributions(model, TOKENS, ANSWER, WRONG, position=position)
    with cut.trace(model, "norm.scale", "blocks.2", detach=True) as seen:
        plain = logits_of(model, TOKENS)[position]
    for head in range(2):

        def without(y: torch.Tensor, head: int = head) -> torch.Tensor:
            y = y.clone()
            y[:, head] = 0
            return y

        # the MLP of the layer reads the head too: it is kept, so that only the direct path is cut
        with cut.trace(model, "blocks.2.mlp", detach=True) as kept:
            logits_of(model, TOKENS)
        edits = {
            "blocks.2.attention.head_outputs": without,
            "blocks.2.mlp": kept["blocks.2.mlp"],
            "norm.scale": seen["norm.scale"],
        }
        with cut.patch(model, edits):
            cut_off = logits_of(model, TOKENS)[position]
        want = (plain - cut_off)[ANSWER] - (plain - cut_off)[WRONG]
        assert found.heads[2, head] == pytest.approx(want.item(), abs=1e-12)


def test_words_and_names():
    found = logit_contributions(ours(depth=1), TOKENS, ANSWER, WRONG, decode=lambda ids: f"<{ids[0]}>")
    assert (found.answer, found.wrong) == ("<7>", "<21>")
    assert list(found.by_part()) == ["embedding", "positions", "attention 0", "mlp 0", "bias"]
    assert logit_contributions(ours(), TOKENS, ANSWER).wrong is None


class Scaled(nn.Module):
    """RMS norm with a gain of 1 + γ, as Gemma's."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (1 + self.gain) * x / x.square().mean(-1, keepdim=True).sqrt()


@pytest.mark.parametrize(
    "norm",
    [nn.LayerNorm(7), nn.LayerNorm(6, bias=False), nn.RMSNorm(7), nn.RMSNorm(6, eps=0.0), Scaled(6), nn.Identity()],
)
@torch.no_grad()
def test_a_norm_with_its_scale_kept(norm: nn.Module):
    _expect_linear(norm.double())  # all gains 1
    for p in norm.parameters():
        p.add_(torch.randn_like(p))
    _expect_linear(norm)
    for p in norm.parameters():
        p.mul_(1e-4)
    _expect_linear(norm)


def _expect_linear(norm: nn.Module) -> None:
    width = next((p.shape[0] for p in norm.parameters()), 6)
    x, parts = torch.randn(width).double(), torch.randn(4, width).double()
    linear, shift = frozen_norm(norm, x)
    torch.testing.assert_close(linear(x) + shift, norm(x))
    torch.testing.assert_close(linear(parts).sum(0), linear(parts.sum(0)))
    if isinstance(norm, nn.LayerNorm):
        s = (x.var(correction=0) + norm.eps).sqrt()
        torch.testing.assert_close(linear(parts), norm.weight * (parts - parts.mean(-1, keepdim=True)) / s)


def test_positions_are_what_the_stream_holds_beside_the_embedding():
    model = ours()
    found = logit_contributions(model, TOKENS, ANSWER)
    model.position.weight.data.zero_()
    assert logit_contributions(model, TOKENS, ANSWER).positions == 0
    assert found.positions != 0


def test_messages():
    with pytest.raises(
        ValueError, match=r"must be the sum of what embedding, attention .* got [0-9.]+ between the two"
    ):
        logit_contributions(ours(order="post"), TOKENS, ANSWER)
    with pytest.raises(ValueError, match="answer must be from 0 to 30, got 31; the model's output has 31 of them"):
        logit_contributions(ours(), TOKENS, 31)
    with pytest.raises(ValueError, match="position must be from -7 to 6, got 7; the model's output has 7"):
        logit_contributions(ours(), TOKENS, ANSWER, position=7)
    with pytest.raises(ValueError, match="a layout must say where attention is, got None; pass"):
        logit_contributions(ours(), TOKENS, ANSWER, layout=Layout("blocks.*", "norm", None, "embed"))
    whole = dict(embed="embed", attention="blocks.*.attention.out", mlp="blocks.*.mlp")
    with pytest.raises(ValueError, match=r"got 12 numbers for heads=5 at 'blocks\.0\.attention\.out'; name the map"):
        logit_contributions(ours(), TOKENS, ANSWER, layout=Layout("blocks.*", "norm", None, **whole, heads=5))
    with pytest.raises(
        ValueError, match=r"must add up to the model's own logit, got [0-9.e-]+ for [0-9.e-]+; name the"
    ):
        logit_contributions(ours(), TOKENS, ANSWER, layout=Layout("blocks.*", "blocks.0.norm_mlp", None, **whole))
    with pytest.raises(ValueError, match="must be a layer norm or an RMS norm, got one that differs from both by"):
        frozen_norm(torch.tanh, torch.randn(4).double())


def test_the_number_of_heads_must_be_said_somewhere():
    class Bare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(4, 4)])
            self.embed, self.norm = nn.Embedding(5, 4), nn.LayerNorm(4)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.norm(self.blocks[0](self.embed(tokens))) @ self.embed.weight.T

    layout = Layout("blocks.*", "norm", None, "embed", attention="blocks.*", mlp="blocks.*")
    with pytest.raises(ValueError, match=r"number of heads must be known, got a model .* at 'blocks\.0'; pass"):
        logit_contributions(Bare(), [1, 2], 3, layout=layout)


def test_numbers_are_plain(float64):
    found = logit_contributions(ours(), TOKENS, ANSWER)
    assert isinstance(found.heads, np.ndarray)
    assert isinstance(found.bias, float)
