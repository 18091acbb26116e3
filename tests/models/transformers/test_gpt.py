"""GPT in all its designs: what a language model must satisfy, whatever its positions, norms and order."""

from contextlib import nullcontext

import pytest
import torch
from representative import slow_but
from torch import Tensor, nn

import cutaway as cut
from cutaway.models import GPT, GPTSpec, HeadSpec, PositionSpec

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3, context=16)
GPT2, LLAMA = GPTSpec.gpt2(**SIZES), GPTSpec.llama(**SIZES, kv_heads=1, hidden=20)
DESIGNS = {
    "gpt2": GPT2,
    "llama": LLAMA,
    "quick": GPTSpec.quick(**SIZES),
    "sinusoidal": GPT2.but(position=PositionSpec("sinusoidal")),
    "alibi": GPT2.but(position=PositionSpec("alibi")),
    "none": GPT2.but(position=PositionSpec("none")),
    "post": GPT2.but(order="post"),
    "parallel": LLAMA.but(order="parallel", position__layout="interleaved", position__share=0.5),
    "window": LLAMA.but(attention__window=3),
    "untied": GPT2.but(head__tied=False),
    "bare": LLAMA.but(head=None),
}


def build(name: str) -> GPT:
    """Weights large enough that every token matters."""
    torch.manual_seed(0)
    model = GPT(DESIGNS[name]).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


def draw(*shape: int) -> Tensor:
    return torch.randint(0, 13, shape)


every_design = pytest.mark.parametrize("name", DESIGNS)


def test_shapes():
    assert GPT(**SIZES)(draw(2, 5)).shape == (2, 5, 13)
    assert GPT(DESIGNS["bare"])(draw(2, 5)).shape == (2, 5, 12)
    assert GPT(**SIZES)(draw(3, 0)).shape == (3, 0, 13)


def test_gpt2_written_out():
    """One layer of GPT-2 in plain operations, from its paper's equations."""
    model = build("gpt2")
    tokens = draw(1, 5)
    x = model.embed.weight[tokens] + model.position.weight[:5]
    norm = lambda z, m: nn.functional.layer_norm(z, (12,), m.weight, m.bias, 1e-5)
    for block in model.blocks:
        h = norm(x, block.norm_attention) @ block.attention.qkv.weight + block.attention.qkv.bias
        q, k, v = (part.view(5, 3, 4).transpose(0, 1) for part in h[0].split(12, -1))
        scores = (q @ k.mT / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(0, 1).reshape(1, 5, 12)
        x = x + y @ block.attention.out.weight + block.attention.out.bias
        h = norm(x, block.norm_mlp) @ block.mlp.up.weight + block.mlp.up.bias
        x = x + nn.functional.gelu(h, approximate="tanh") @ block.mlp.down.weight + block.mlp.down.bias
    torch.testing.assert_close(model(tokens), norm(x, model.norm) @ model.embed.weight.T)


@every_design
def test_a_later_token_changes_nothing_before_it(name: str):
    model, tokens = build(name), draw(2, 9)
    before = model(tokens)
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 13
    after = model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5], after[:, 5])


@every_design
def test_earlier_tokens_matter(name: str):
    """Unless they lie outside of the window: 2 layers of 3 tokens reach 4 back."""
    model, tokens = build(name), draw(1, 9)
    changed = tokens.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 13
    moved = (model(tokens) - model(changed)).abs().amax((0, 2)) > 1e-12
    reach = 7 if name == "window" else 9
    assert moved.tolist() == [False, False] + [True] * (reach - 2) + [False] * (9 - reach)


@every_design
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(name: str, side: str):
    model, tokens = build(name), draw(2, 6)
    alone = model(tokens)
    padding = draw(2, 3)
    parts = [padding, tokens] if side == "left" else [tokens, padding]
    real = [torch.zeros(2, 3), torch.ones(2, 6)] if side == "left" else [torch.ones(2, 6), torch.zeros(2, 3)]
    padded, mask = torch.cat(parts, 1), torch.cat(real, 1).bool()
    torch.testing.assert_close(model(padded, mask)[mask], alone.flatten(0, 1))


@every_design
def test_gradients_through_padding_are_numbers(name: str):
    model = build(name)
    mask = torch.tensor([[False, False, True, True], [True, True, True, False]])
    model(draw(2, 4), mask)[mask].square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every_design
def test_packed_documents_equal_documents_alone(name: str):
    model, documents = build(name), [draw(1, n) for n in (4, 2, 5)]
    packed = torch.cat(documents, 1)
    segments = torch.tensor([[7] * 4 + [3] * 2 + [4] * 5])
    alone = torch.cat([model(document) for document in documents], 1)
    torch.testing.assert_close(model(packed, segments=segments), alone)
    # and with padding behind, before and between them
    gaps = torch.cat([documents[0], draw(1, 3), documents[1], documents[2], draw(1, 1)], 1)
    mask = torch.tensor([[True] * 4 + [False] * 3 + [True] * 7 + [False]])
    segments = torch.tensor([[7] * 5 + [3] * 4 + [4] * 6])
    torch.testing.assert_close(model(gaps, mask, segments)[mask], alone[0])


@every_design
@pytest.mark.parametrize("steps", [[1] * 9, [4, 1, 1, 3], [9]], ids=["one by one", "in parts", "at once"])
def test_a_cache_changes_nothing(name: str, steps: list[int]):
    model, tokens = build(name), draw(2, 9)
    cache = model.new_cache(2, 9)
    with torch.no_grad():
        parts = [model(part, cache=cache) for part in tokens.split(steps, 1)]
        torch.testing.assert_close(torch.cat(parts, 1), model(tokens))


@every_design
def test_a_cache_with_prompts_of_different_lengths(name: str):
    model, tokens = build(name), draw(2, 8)
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, :3] = False
    cache = model.new_cache(2)
    with torch.no_grad():
        first = model(tokens[:, :5], mask[:, :5], cache=cache)
        rest = [model(tokens[:, i : i + 1], cache=cache) for i in range(5, 8)]
        got = torch.cat([first, *rest], 1)
        torch.testing.assert_close(got[mask], model(tokens, mask)[mask])


@pytest.mark.parametrize("window", [1, 2, 5, 20])
@pytest.mark.parametrize("base", ["gpt2", "llama"])
def test_a_window_equals_masked_attention(base: str, window: int):
    """The same weights with every score outside of the window set to −∞."""
    full = build(base)
    sparse = GPT(full.spec.but(attention__window=window)).double()
    sparse.load_state_dict(full.state_dict())
    tokens = draw(2, 11)
    i = torch.arange(11)
    outside = (i[:, None] - i >= window) | (i[:, None] < i)
    edits = {"blocks.*.attention.scores": lambda e: e.masked_fill(outside, -torch.inf)}
    with cut.patch(full, edits):
        expected = full(tokens)
    torch.testing.assert_close(sparse(tokens), expected)


def test_parallel_order_written_out():
    model = build("parallel")
    with cut.trace(model, "blocks.0.before", "blocks.0.after") as seen:
        model(draw(1, 5))
    x, block = seen["blocks.0.before"], model.blocks[0]
    h = block.norm_attention(x)
    torch.testing.assert_close(seen["blocks.0.after"], x + block.attention(h, causal=True) + block.mlp(h))


@every_design
def test_checkpointing_gives_the_same_gradients(name: str):
    model, tokens = build(name), draw(2, 6)
    again = GPT(model.spec.but(checkpointing=True)).double()
    again.load_state_dict(model.state_dict())
    for one in (model, again):
        one(tokens).square().mean().backward()
    for (path, p), q in zip(model.named_parameters(), again.parameters(), strict=True):
        if p.grad is not None:
            torch.testing.assert_close(p.grad, q.grad, msg=path)


def test_checkpointing_with_dropout_repeats_the_same_draws():
    spec = GPTSpec.gpt2(**SIZES, dropout=0.3)
    model = GPT(spec).double()
    again = GPT(spec.but(checkpointing=True)).double()
    again.load_state_dict(model.state_dict())
    tokens, grads = draw(2, 6), []
    for one in (model, again):
        torch.manual_seed(5)
        one(tokens).square().mean().backward()
        grads.append(torch.cat([p.grad.flatten() for p in one.parameters()]))
    torch.testing.assert_close(*grads)


def test_a_cache_is_not_filled_twice_by_checkpointing():
    model = GPT(GPT2.but(checkpointing=True)).train()
    cache = model.new_cache(1)
    model(draw(1, 3), cache=cache).sum().backward()
    assert cache.length == 3


def test_dropout_only_in_training():
    model = GPT(GPTSpec.gpt2(**SIZES, dropout=0.5))
    tokens = draw(1, 5)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_reading_any_layer_in_the_language_of_tokens():
    """The logit lens: the output's map applied to the stream; on the last norm it is the output itself."""
    model, tokens = build("llama"), draw(1, 5)
    with cut.trace(model, "norm", "logits") as seen:
        out = model(tokens)
    torch.testing.assert_close(model.read_out(seen["norm"]), out)
    assert torch.equal(seen["logits"], out)


@pytest.mark.untyped
@pytest.mark.parametrize("name", slow_but("llama", {"gpt2": "gpt2", "llama": "llama"}))
def test_compiled_with_a_cache(name: str):
    model, tokens = build(name).eval(), draw(2, 6)
    expected = model(tokens)
    torch._dynamo.reset()
    fast = torch.compile(model, backend="aot_eager", fullgraph=True)
    cache = model.new_cache(2)
    with torch.no_grad():
        first = fast(tokens[:, :5], cache=cache)
        last = fast(tokens[:, 5:], cache=cache)
    torch.testing.assert_close(torch.cat([first, last], 1), expected)


@pytest.mark.slow
@pytest.mark.untyped
def test_compiled_with_checkpointing():
    model = GPT(LLAMA.but(checkpointing=True)).double()
    tokens = draw(2, 6)
    model(tokens).square().mean().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch._dynamo.reset()
    torch.compile(model, backend="aot_eager", fullgraph=True)(tokens).square().mean().backward()
    for p, g in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, g)


@pytest.mark.untyped
def test_messages():
    model = GPT(**SIZES)
    with pytest.raises(ValueError, match="the model's context is 16 tokens, got 17; shorten the input or build"):
        model(draw(1, 17))
    cache = model.new_cache(1, 16)
    model(draw(1, 14), cache=cache)
    with pytest.raises(ValueError, match=r"the model's context is 16 tokens, got 14 \+ 3"):
        model(draw(1, 3), cache=cache)
    with pytest.raises(
        ValueError, match="segments are for packed training batches, got a cache too; decode one document"
    ):
        model(draw(1, 2), segments=draw(1, 2), cache=model.new_cache(1))
    with pytest.raises(ValueError, match=r"tokens must be integers, got torch.float32"):
        model(torch.ones(1, 3))
    with pytest.raises(ValueError, match=r"a mask must have the tokens' shape \(1, 3\), got \(3,\)"):
        model(draw(1, 3), torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"segments must have the tokens' shape \(1, 3\), got \(1, 2\)"):
        model(draw(1, 3), segments=draw(1, 2))


def test_classes_and_language_are_different_models():
    model = GPT(GPT2.but(head=HeadSpec("classes", classes=4)))
    assert model.logits is None
    assert "head.logits" in cut.addresses(model)


@pytest.mark.parametrize("tied", [True, False])
def test_losses_are_those_of_the_logits_whether_kept_or_not(tied: bool, monkeypatch: pytest.MonkeyPatch):
    from cutaway.blocks.losses import linear_cross_entropy as fused

    model = build("gpt2" if tied else "untied").double()
    tokens, targets = torch.randint(13, (2, 2, 5))
    at = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0]]).bool()
    want = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="none")
    for few in (2**22, 1):  # written out, fused
        monkeypatch.setattr(fused, "_FEW", few)
        torch.testing.assert_close(model(tokens, targets=targets), want.view(2, 5))
        torch.testing.assert_close(model(tokens, at=at, targets=targets[at]), want.view(2, 5)[at])
    with cut.trace(model, "logits") as seen:
        torch.testing.assert_close(model(tokens, targets=targets), want.view(2, 5))
    torch.testing.assert_close(seen["logits"], model(tokens))
    torch.testing.assert_close(model(tokens, at=at), model(tokens)[at])
    if not tied:
        with cut.patch(model, {"unembed": lambda x: 2 * x}):
            doubled = model(tokens, targets=targets)
            logits = model(tokens)
        twice = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        torch.testing.assert_close(doubled, twice.view(2, 5))


@pytest.mark.parametrize("kind", ["gpt2", "untied"])
def test_reading_leaves_every_bit_of_losses_and_of_tokens_with_a_cache(kind: str, monkeypatch: pytest.MonkeyPatch):
    from cutaway.blocks.losses import linear_cross_entropy as fused

    monkeypatch.setattr(fused, "_FEW", 1)  # so that a small model takes the kernel in slices
    tokens, targets = torch.randint(13, (2, 2, 5))
    for dtype in (torch.float32, torch.float64):
        model = build(kind).to(dtype)
        plain = model(tokens, targets=targets)
        for at in ["**", "logits", *(["unembed", "unembed.input"] if kind == "untied" else [])]:
            with cut.trace(model, at):
                assert torch.equal(model(tokens, targets=targets), plain), at
        model.eval()
        for row in (tokens, tokens[:1]):  # a single row takes the kernel for vectors
            passes = []
            for looks in (False, True):
                cache = model.new_cache(len(row))
                with torch.no_grad(), cut.trace(model, "**") if looks else nullcontext():
                    passes.append(torch.cat([model(row[:, i : i + 1], cache=cache) for i in range(5)]))
            assert torch.equal(*passes)


def test_losses_need_a_language_head():
    model = build("bare")
    with pytest.raises(ValueError, match="only a language head takes positions and targets"):
        model(torch.zeros(1, 3, dtype=torch.long), targets=torch.zeros(1, 3, dtype=torch.long))
