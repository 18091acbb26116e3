"""The logit lens: its last row is the model, the others are what their equation says."""

import pytest
import torch
from look.languages import OURS, THEIRS, TOKENS, VOCABULARY, logits_of, ours
from torch import nn

import cutaway as cut
from cutaway.look import Layout, logit_lens


@pytest.mark.parametrize("name", [*OURS, *THEIRS])
def test_the_last_row_is_the_models_own_output(name: str):
    model = (OURS | THEIRS)[name]()
    lens = logit_lens(model, TOKENS)
    torch.testing.assert_close(lens.logits(), logits_of(model, TOKENS), rtol=0, atol=1e-12)
    assert len(lens.layers) == 2 if name == "one layer" else lens.layers == ["embedding", "0", "1", "2"]


def test_a_post_norm_model_has_no_last_norm():
    model = ours(order="post")
    torch.testing.assert_close(logit_lens(model, TOKENS).logits(), logits_of(model, TOKENS), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
def test_every_row_is_the_model_with_its_later_layers_taken_out(tied: bool):
    """A pre-norm layer whose two parts write nothing is the identity: so the model stops there."""
    model = ours("llama", head__tied=tied)
    lens = logit_lens(model, TOKENS)
    for kept in range(4):
        silent = {f"blocks.{i}.{part}": 0.0 for i in range(kept, 3) for part in ("attention", "mlp")}
        if silent:
            with cut.patch(model, silent):
                want = logits_of(model, TOKENS)
        else:
            want = logits_of(model, TOKENS)
        torch.testing.assert_close(lens.logits(kept), want, rtol=0, atol=1e-12)


def test_the_numbers_of_a_row():
    model = ours()
    lens = logit_lens(model, TOKENS, top=3)
    p = lens.logits(2).softmax(-1)
    final = logits_of(model, TOKENS).argmax(-1)
    for t in range(len(TOKENS)):
        order = p[t].argsort(descending=True)
        assert lens.top[2, t].tolist() == order[:3].tolist()
        assert lens.probability[2, t] == pytest.approx(p[t][order[:3]].numpy(), abs=1e-12)
        assert lens.entropy[2, t] == pytest.approx(-(p[t] * p[t].log()).sum().item(), abs=1e-12)
        assert lens.rank[2, t] == order.tolist().index(final[t]) + 1
        if t + 1 < len(TOKENS):
            assert lens.follows[2, t] == pytest.approx(p[t, TOKENS[t + 1]].item(), abs=1e-12)
    assert (lens.rank[-1] == 1).all()
    assert lens.follows[2, -1] != lens.follows[2, -1]  # nothing follows the last


def test_words():
    lens = logit_lens(ours(), TOKENS, decode=lambda ids: f"<{ids[0]}>")
    assert lens.tokens == [f"<{i}>" for i in TOKENS]
    assert lens.words[1][2][0] == f"<{lens.top[1, 2, 0]}>"
    model = ours()
    assert logit_lens(model, TOKENS).tokens == [str(i) for i in TOKENS]
    model.tokenizer = type("Letters", (), {"decode": staticmethod(lambda ids: chr(97 + ids[0]))})
    assert logit_lens(model, TOKENS).tokens[0] == "d"  # token 3


def test_the_model_is_left_as_it_was():
    model = ours(dropout=0.5).train()
    model.blocks[0].eval()
    before = torch.get_rng_state()
    one, two = logit_lens(model, TOKENS), logit_lens(model, torch.tensor([TOKENS]))
    assert torch.equal(one.logits(), two.logits())  # without dropout
    assert model.training
    assert not model.blocks[0].training
    assert torch.equal(torch.get_rng_state(), before)


class Own(nn.Module):
    """x ← x + tanh(x W) twice, read by a head with a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.layers = nn.ModuleList(nn.Identity() for _ in range(2))
        self.final = nn.LayerNorm(4)
        self.head = nn.Linear(4, 5)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, str]:
        x = self.table(tokens)
        for step, layer in zip(self.steps, self.layers):
            x = layer(x + torch.tanh(step(x)))
        return self.head(self.final(x)), "and more"


def test_a_model_of_ones_own():
    model = Own().double()
    lens = logit_lens(model, [0, 4, 2], layout=Layout("layers.*", "final", "head"))
    torch.testing.assert_close(lens.logits(), model(torch.tensor([[0, 4, 2]]))[0][0])
    assert lens.layers == ["embedding", "0", "1"]


def test_messages():
    model = ours()
    with pytest.raises(ValueError, match=r"a layout that is known \(Cutaway's GPT; .*\), got Own; name its parts"):
        logit_lens(Own(), [1])
    with pytest.raises(
        ValueError, match=r"must give the model's own logits, got [0-9.e+-]+ between them; name the right"
    ):
        logit_lens(Own(), [1], layout=Layout("layers.*", None, "head"))
    with pytest.raises(ValueError, match=r"got 'layer\.\*'; the nearest known are: .*layers\.0"):
        logit_lens(Own(), [1], layout=Layout("layer.*", None, "head"))
    with pytest.raises(ValueError, match=r"a layout must say where embed is, got None; pass cut\.look\.Layout"):
        logit_lens(Own(), [1], layout=Layout("layers.*", "final", None))
    with pytest.raises(ValueError, match=r"tokens must lie from 0 to 30, got 31; encode the text"):
        logit_lens(model, [2, VOCABULARY])
    with pytest.raises(ValueError, match=r"tokens must be those of one text, .* got shape \(2, 3\); look at one"):
        logit_lens(model, torch.ones(2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"tokens must be integers, got torch\.float32; encode the text"):
        logit_lens(model, torch.ones(3))
    with pytest.raises(ValueError, match="top must be 1 or more, got 0; try top=5"):
        logit_lens(model, TOKENS, top=0)
    with pytest.raises(ValueError, match="to be read layer by layer, got a GPT without a language head; use one that"):
        logit_lens(ours(head=None), TOKENS)
    tied = Layout("blocks.*", "norm", None, "embed")
    with pytest.raises(
        ValueError, match=r"for every token of its vocabulary, \(7, 31\), got \(7, 12\); use a model with"
    ):
        logit_lens(ours(head=None), TOKENS, layout=tied)
