"""Bare equations: equal to the blocks in float64, and left aside wherever somebody looks."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import MLP, GatedMLP, LayerNorm, Linear, RMSNorm
from cutaway.inside.quiet import equation_of, nobody_looks
from cutaway.models import GPT, GPTSpec
from cutaway.models.specs.architectures import AttentionSpec, HeadSpec, MLPSpec, NormSpec, PositionSpec

SIZES = dict(vocabulary=13, width=12, depth=2, heads=6, context=16)


def spec(order: str = "pre", position: str = "rotary", **attention: object) -> GPTSpec:
    return GPTSpec(
        vocabulary=13,
        width=12,
        depth=2,
        context=16,
        order=order,
        attention=AttentionSpec(heads=6, **attention),
        mlp=MLPSpec(hidden=7),
        norm=NormSpec("layer", 1e-5),
        position=PositionSpec(position),
        head=HeadSpec("language"),
    )


DESIGNS = {
    "gpt2": lambda: GPT(**SIZES),
    "llama": lambda: GPT.llama(**SIZES, kv_heads=2),
    "quick": lambda: GPT(GPTSpec.quick(**SIZES)),
    "post": lambda: GPT(spec("post")),
    "parallel": lambda: GPT(spec("parallel", kv_heads=1)),
    "window": lambda: GPT(spec(window=3, kv_heads=3)),
    "query norms": lambda: GPT(spec(norm=True)),
    "alibi": lambda: GPT(spec(position="alibi")),
}
every_design = pytest.mark.parametrize("design", DESIGNS)


def build(design: str) -> GPT:
    torch.manual_seed(0)
    model = DESIGNS[design]()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model.double().eval()


def passes(model: GPT, batch: int, mask: torch.Tensor | None) -> torch.Tensor:
    """The hidden states of eight tokens: five at once, one, and two at once."""
    tokens = torch.arange(8).repeat(batch, 1) + torch.arange(batch)[:, None]
    cache = model.new_cache(batch)
    first = model.hidden(tokens[:, :5], mask, cache=cache)
    return torch.cat([first, *(model.hidden(x, cache=cache) for x in (tokens[:, 5:6], tokens[:, 6:]))], 1)


@every_design
@pytest.mark.parametrize("batch", [1, 3])
@torch.no_grad()
def test_a_pass_nobody_looks_at_equals_the_one_of_the_modules(design: str, batch: int):
    model = build(design)
    mask = None if batch == 1 else torch.arange(5) >= torch.arange(batch)[:, None]
    bare = passes(model, batch, mask)
    with cut.trace(model, "blocks.0.after"):
        open_ = passes(model, batch, mask)
    real = slice(None) if mask is None else slice(batch - 1, None)
    torch.testing.assert_close(bare[:, real], open_[:, real], rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(6,), (1, 1, 6), (2, 3, 6)])
@pytest.mark.parametrize(
    "block",
    [
        Linear(6, 5),
        Linear(6, 5, bias=False),
        MLP(6),
        GatedMLP(6),
        LayerNorm(6),
        LayerNorm((6,), bias=False),
        RMSNorm(6),
    ],
    ids=["linear", "no bias", "mlp", "gated", "layer", "layer without bias", "rms"],
)
@torch.no_grad()
def test_an_equation_is_its_block(block: nn.Module, shape: tuple[int, ...]):
    block = block.double()
    x = torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(equation_of(block)(x), block(x), rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_half_precision_is_normalised_in_float32():
    x, norm = torch.full((6,), 300.0).half(), RMSNorm(6).half()  # 300² is beyond float16
    assert torch.equal(norm.equation(x), torch.ones(6).half())


def test_who_looks_ends_the_quiet():
    model = GPT(**SIZES).eval()
    assert not nobody_looks(model), "gradients are wanted"
    with torch.no_grad():
        assert nobody_looks(model)
        assert not nobody_looks(model.train()), "dropout"
        model.eval()
        with cut.trace(model, "blocks.0.after"):
            assert not nobody_looks(model)
            model(torch.tensor([[1]]))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not nobody_looks(model)
        handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
        assert not nobody_looks(model)
        handle.remove()
        assert nobody_looks(model)


class Doubled(MLP):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@torch.no_grad()
def test_a_forward_of_ones_own_wins():
    torch.manual_seed(0)
    mlp, x = Doubled(6), torch.randn(6)
    torch.testing.assert_close(equation_of(mlp)(x), 2 * MLP.equation(mlp, x))
    plain = MLP(6)
    plain.forward = lambda x: x + 1  # type: ignore[method-assign]
    assert torch.equal(equation_of(plain)(x), x + 1)


@torch.no_grad()
def test_hooks_fire_and_see_a_batch_of_one():
    model, seen = build("llama"), []
    model.blocks[1].mlp.register_forward_hook(lambda _, args, y: seen.append((args[0].shape, y.shape)))
    model.blocks[0].attention.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape))
    cache = model.new_cache(1)
    for token in (1, 2):
        model.hidden(torch.tensor([[token]]), cache=cache)
    assert seen == [(1, 1, 12), ((1, 1, 12), (1, 1, 12))] * 2


@torch.no_grad()
def test_a_replaced_layer_is_called_as_a_module():
    model = build("gpt2")
    before = model.hidden(torch.tensor([[3]]), cache=model.new_cache(1))
    inner = model.blocks[0].attention.out
    model.blocks[0].attention.out = nn.Sequential(inner, nn.Identity())
    assert torch.equal(model.hidden(torch.tensor([[3]]), cache=model.new_cache(1)), before)
