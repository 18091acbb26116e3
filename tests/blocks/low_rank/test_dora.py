"""DoRA: its equation by hand, its start, its gradient with the length held constant, and merging."""

import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import DoRA, Linear, LoRA


def drawn():
    torch.manual_seed(0)
    base = Linear(5, 6).double()
    layer = LoRA(base, rank=0)
    layer.add("default", {"whole": DoRA(5, 6, 2, alpha=3).double().measure(base.weight)})
    update = layer.updates("default")["whole"]
    return layer, update


def test_it_starts_at_the_base():
    layer, update = drawn()
    x = torch.randn(3, 5).double()
    assert torch.equal(layer(x), layer.base(x))
    torch.testing.assert_close(update.magnitude, layer.base.weight.norm(dim=0))


def test_the_equation_and_its_merge():
    layer, update = drawn()
    nn.init.normal_(update.b)
    nn.init.uniform_(update.magnitude)
    x = torch.randn(3, 5).double()
    V = layer.base.weight + 1.5 * update.a @ update.b
    W = update.magnitude * V / V.norm(dim=0)
    torch.testing.assert_close(layer(x), x @ W + layer.base.bias)
    torch.testing.assert_close(layer.merged_matrix(), W)
    held = update.magnitude * V / V.norm(dim=0).detach()  # §4.3: no gradient through the length
    ours = torch.autograd.grad(layer(x).square().sum(), [update.a, update.b, update.magnitude])
    by_hand = torch.autograd.grad((x @ held + layer.base.bias).square().sum(), [update.a, update.b, update.magnitude])
    for g, h in zip(ours, by_hand, strict=True):
        torch.testing.assert_close(g, h)


def test_on_a_part_of_a_fused_matrix():
    torch.manual_seed(0)
    model = cut.models.GPT(vocabulary=11, width=8, depth=1, heads=2, context=4).double().eval()
    tokens = torch.arange(4)[None]
    before = model(tokens)
    assert cut.lora(model, "blocks.*.attention.values", rank=2, dora=True).kind == "DoRA"
    torch.testing.assert_close(model(tokens), before, rtol=0, atol=1e-13)
    update = model.blocks[0].attention.qkv.updates("default")["values"]
    nn.init.normal_(update.b)
    tuned = model(tokens)
    assert (tuned - before).abs().max() > 1e-3
    cut.merge(model)
    torch.testing.assert_close(model(tokens), tuned)
