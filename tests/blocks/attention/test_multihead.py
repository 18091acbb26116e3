"""Multi-head attention against torch.nn and its own equation, head by head; caches; what taps read and edit."""

import pytest
import torch
from representative import slow_but
from torch import nn

import cutaway as cut
from cutaway.blocks import (
    Cache,
    LayerCache,
    Linear,
    MemoryCache,
    MultiHeadAttention,
    RMSNorm,
    Rotary,
    attend_open,
)
from cutaway.blocks.attention.multihead import multi_head_attention
from cutaway.blocks.attention_masks.patterns import global_tokens, window

TAPS = ["queries", "keys", "values", "scores", "weights", "head_outputs", "output"]


def by_heads(block, x, memory=None, **how):
    """One head at a time, with W_Q, W_K, W_V and W_O of its own, added up."""
    memory = x if memory is None else memory
    d, h, g = block.head_width, block.heads, block.kv_heads
    W, b = block.qkv.weight, block.qkv.bias
    y = torch.zeros_like(x) if block.out.bias is None else block.out.bias.expand_as(x)
    for i in range(h):
        j = i // (h // g)
        starts = i * d, (h + j) * d, (h + g + j) * d
        (W_Q, W_K, W_V), (b_Q, b_K, b_V) = ([p[..., s : s + d] for s in starts] for p in (W, b))
        Y = attend_open(x @ W_Q + b_Q, memory @ W_K + b_K, memory @ W_V + b_V, scale=block.scale, **how).output
        y = y + Y @ block.out.weight[i * d : (i + 1) * d]
    return y


@pytest.mark.parametrize(
    "block",
    [
        lambda: MultiHeadAttention(6, 2),
        lambda: MultiHeadAttention(6, 6, kv_heads=3),
        lambda: MultiHeadAttention(6, 6, kv_heads=1, bias="qkv"),
        lambda: MultiHeadAttention(6, 4, kv_heads=2, head_width=5, scale=1.0),
    ],
    ids=["heads", "grouped", "multi-query", "wide heads"],
)
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=str)
def test_fused_is_head_by_head(block, lead, float64):
    block = block()
    x, memory = torch.randn(*lead, 5, 6), torch.randn(*lead, 7, 6)
    torch.testing.assert_close(block(x, causal=True), by_heads(block, x, causal=True))
    torch.testing.assert_close(block(x, memory), by_heads(block, x, memory))


def as_torchs(block):
    peer = nn.MultiheadAttention(block.width, block.heads, bias=block.qkv.bias is not None, batch_first=True)
    with torch.no_grad():
        peer.in_proj_weight.copy_(block.qkv.weight.T)
        peer.out_proj.weight.copy_(block.out.weight.T)
        if block.qkv.bias is not None:
            peer.in_proj_bias.copy_(block.qkv.bias)
            peer.out_proj.bias.copy_(block.out.bias)
    return peer.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_torchs_block(bias, float64):
    block = MultiHeadAttention(6, 3, bias=bias)
    peer = as_torchs(block)
    x, memory = torch.randn(2, 5, 6, requires_grad=True), torch.randn(2, 7, 6)
    real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    for ours, theirs in [
        ({}, (x, x, {})),
        ({"causal": True}, (x, x, {"attn_mask": torch.ones(5, 5).triu(1).bool()})),
        ({"memory": memory}, (memory, memory, {})),
        ({"memory": memory, "mask": real[:, None, None]}, (memory, memory, {"key_padding_mask": ~real})),
    ]:
        with cut.trace(block, "weights") as seen:
            y = block(x, **ours)
        k, v, how = theirs
        output, weights = peer(x, k, v, average_attn_weights=False, **how)
        torch.testing.assert_close(y, output)
        torch.testing.assert_close(seen["weights"], weights)
        back = torch.randn_like(y)
        (one,), (other,) = (torch.autograd.grad((out * back).sum(), x) for out in (y, output))
        torch.testing.assert_close(one, other)


def test_masks_reach_attention(float64):
    block, x = MultiHeadAttention(6, 3), torch.randn(2, 9, 6)
    for how in (
        {"mask": torch.rand(9, 9) < 0.5},
        {"mask": torch.rand(2, 3, 9, 9) < 0.5, "causal": True},
        {"window": 3, "causal": True},
        {"mask": global_tokens(1) | window(2)},
        {"bias": torch.randn(3, 9, 9)},
        {"bias": torch.randn(9, 9), "causal": True},
    ):
        q, k, v = block._by_head(block.qkv(x)).split(3, -3)
        Y = attend_open(q, k, v, **how).output
        torch.testing.assert_close(block(x, **how), block.out(Y.transpose(1, 2).flatten(2)))


def test_prepare_meets_queries_and_keys(float64):
    class Twice(nn.Module):
        def forward(self, q, k, positions):
            return 2 * q + 0 * positions[:, None], k

    block, plain = MultiHeadAttention(6, 3, prepare=Twice()), MultiHeadAttention(6, 3, scale=2 / 2**0.5)
    plain.load_state_dict(block.state_dict())
    x = torch.randn(2, 5, 6)
    torch.testing.assert_close(block(x, positions=torch.arange(5)), plain(x))


def test_another_module_in_place_of_the_projection(float64):
    """As LoRA does: cross attention must go through it as well."""

    class Doubled(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return 2 * self.inner(x)

    block = MultiHeadAttention(6, 3, kv_heads=1)
    x, memory = torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    with torch.no_grad():
        doubled = MultiHeadAttention(6, 3, kv_heads=1)
        doubled.load_state_dict({k: v * (2 if k.startswith("qkv") else 1) for k, v in block.state_dict().items()})
    block.qkv = Doubled(block.qkv)
    torch.testing.assert_close(block(x, memory), doubled(x, memory))
    torch.testing.assert_close(block(x), doubled(x))


# ---------------------------------------------------------------------------------------------------------------------
# Caches


class TurnAndNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rotary, self.norm = Rotary(width), RMSNorm(width)

    def forward(self, q, k, positions=None):
        return self.rotary(self.norm(q), self.norm(k), positions=positions)


def new_cache(block, batch=2, context=11):
    return Cache(1, batch, block.kv_heads, context, block.head_width, block.qkv.weight).layers[0]


BLOCKS = {
    "heads": lambda: MultiHeadAttention(12, 3),
    "grouped": lambda: MultiHeadAttention(12, 6, kv_heads=2),
    "multi-query": lambda: MultiHeadAttention(12, 6, kv_heads=1),
    "rotary": lambda: MultiHeadAttention(12, 3, prepare=TurnAndNorm(4)),
}


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("steps", [[1] * 9, [4, 1, 1, 3], [8, 1], [9]], ids=str)
@pytest.mark.parametrize("size", [None, 3], ids=["all", "window"])
def test_token_by_token_is_one_pass(make, steps, size, float64):
    block, x = make(), torch.randn(2, 9, 12)
    whole = block(x, causal=True, window=size)
    for graph in (torch.no_grad, torch.enable_grad):
        cache = new_cache(block)
        with graph():
            parts = [block(part, causal=True, window=size, cache=cache) for part in x.split(steps, 1)]
        torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-12, atol=1e-12)
        assert cache.length == 9


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_ragged_prompts_are_as_if_alone(make, float64):
    """Two prompts, of 3 and 5 tokens, padded on the left, then 4 tokens each."""
    block, lengths = make(), torch.tensor([3, 5])
    x = torch.randn(2, 9, 12)
    real = torch.arange(9) >= 5 - lengths[:, None]
    positions = (real.cumsum(1) - 1).clamp(min=0)
    cache, parts = new_cache(block), []
    for start, stop in ((0, 5), (5, 6), (6, 7), (7, 9)):
        how = {"mask": real[:, None, None, :stop], "positions": positions[:, start:stop]}
        parts.append(block(x[:, start:stop], causal=True, cache=cache, **how))
    together = torch.cat(parts, 1)
    for i, n in enumerate(lengths):
        alone = block(x[i : i + 1, 5 - n :], causal=True)
        torch.testing.assert_close(together[i, 5 - n :], alone[0], rtol=1e-12, atol=1e-12)


def test_gradients_with_a_cache_reach_the_new_tokens_and_only_these(float64):
    block = MultiHeadAttention(6, 3)
    x = torch.randn(2, 5, 6, requires_grad=True)
    cache = new_cache(block)
    block(x[:, :3], causal=True, cache=cache)
    y = block(x[:, 3:], causal=True, cache=cache)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(slope[:, :3], torch.zeros(2, 3, 6))
    # the same pass with the past as a constant, at once
    past = x[:, :3].detach()
    joined = block(torch.cat([past, x[:, 3:]], 1), causal=True)[:, 3:]
    torch.testing.assert_close(slope[:, 3:], torch.autograd.grad(joined.sum(), x)[0][:, 3:])


def test_backward_may_come_after_the_cache_has_grown(float64):
    block = MultiHeadAttention(6, 3)
    x = torch.randn(2, 5, 6, requires_grad=True)
    cache = new_cache(block)
    first = block(x[:, :3], causal=True, cache=cache)
    block(x[:, 3:], causal=True, cache=cache)
    (slope,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(slope[:, :3], torch.autograd.grad(block(x, causal=True)[:, :3].sum(), x)[0][:, :3])


@pytest.mark.parametrize("prepare", [None, "norm"])
def test_memory_is_projected_once(prepare, float64):
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = RMSNorm(2)

        def forward(self, q, k, positions):
            return self.norm(q), self.norm(k)

    block = MultiHeadAttention(6, 3, prepare=None if prepare is None else Norms())
    x, memory = torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    cache = MemoryCache()
    first, second = block(x[:, :2], memory, cache=cache), block(x[:, 2:], 0 * memory, cache=cache)
    torch.testing.assert_close(torch.cat([first, second], 1), block(x, memory))


# ---------------------------------------------------------------------------------------------------------------------
# Looking inside


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_taps_hold_the_values_of_the_equation(make, float64):
    block, x = make(), torch.randn(2, 5, 12)
    with cut.trace(block, TAPS) as seen:
        y = block(x, causal=True)
    h, g, d = block.heads, block.kv_heads, block.head_width
    assert seen["queries"].shape == (2, h, 5, d)
    assert seen["keys"].shape == seen["values"].shape == (2, g, 5, d)
    done = attend_open(seen["queries"], seen["keys"], seen["values"], causal=True)
    torch.testing.assert_close(seen["scores"], done.scores)
    torch.testing.assert_close(seen["weights"], done.weights)
    torch.testing.assert_close(seen["head_outputs"], done.output)
    assert torch.equal(seen["output"], y)


@pytest.mark.parametrize("taps", [["weights"], ["scores"], TAPS], ids=str)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_reading_does_not_change_a_bit(taps, dropout):
    block = MultiHeadAttention(12, 6, kv_heads=2, dropout=dropout)
    x = torch.randn(2, 50, 12)
    torch.manual_seed(1)
    plain = block(x, causal=True)
    torch.manual_seed(1)
    with cut.trace(block, taps):
        assert torch.equal(block(x, causal=True), plain)


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_editing_scores_weights_values(make, float64):
    block, x = make(), torch.randn(2, 5, 12)
    with cut.trace(block, TAPS) as seen:
        block(x, causal=True)
    project = lambda Y: block.out(Y.transpose(1, 2).flatten(2))
    shared = seen["values"].repeat_interleave(block.heads // block.kv_heads, 1)
    with cut.patch(block, {"scores": lambda e: 3 * e}), cut.trace(block, "weights", "head_outputs") as sharp:
        y = block(x, causal=True)
    A = torch.softmax(3 * seen["scores"], -1)
    torch.testing.assert_close(sharp["weights"], A)
    torch.testing.assert_close(y, project(A @ shared))
    with cut.patch(block, {"weights": torch.eye(5)}):  # each token looks at itself
        torch.testing.assert_close(block(x, causal=True), project(shared))
    with cut.patch(block, {"scores": lambda e: e - 1, "weights": lambda a: a**2}):
        torch.testing.assert_close(block(x, causal=True), project(seen["weights"] ** 2 @ shared))
    with cut.patch(block, {"values": lambda v: v + 1}):  # rows of weights sum to one
        torch.testing.assert_close(block(x, causal=True), project(seen["weights"] @ shared + 1))
    with cut.patch(block, {"queries": 0.0}):  # no preference
        mean = shared.cumsum(2) / torch.arange(1, 6)[:, None]
        torch.testing.assert_close(block(x, causal=True), project(mean))


def test_zeroing_a_head_is_removing_its_rows(float64):
    block, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    without = MultiHeadAttention(6, 3)
    without.load_state_dict(block.state_dict())
    with torch.no_grad():
        without.out.weight[2:4] = 0

    def zero(Y):
        Y = Y.clone()
        Y[:, 1] = 0
        return Y

    with cut.patch(block, {"head_outputs": zero}):
        torch.testing.assert_close(block(x), without(x))


def test_an_edit_of_weights_meets_dropout_afterwards(float64):
    block, x = MultiHeadAttention(6, 3, dropout=0.5), torch.randn(2, 5, 6)
    torch.manual_seed(1)
    plain = block(x)
    torch.manual_seed(1)
    with cut.patch(block, {"weights": lambda a: a}):
        torch.testing.assert_close(block(x), plain)  # on the CPU both ways draw the same
    assert not torch.allclose(plain, block.eval()(x))


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_gradients_of_inner_values(make, float64):
    block, x = make(), torch.randn(2, 5, 12)
    with cut.trace(block, TAPS, gradients=True) as seen:
        y = block(x, causal=True)
        torch.testing.assert_close(y, block(x, causal=True))
    with cut.trace(block, TAPS, gradients=True) as seen:
        block(x, causal=True).square().sum().backward()
    δ = seen.gradient
    torch.testing.assert_close(δ["output"], 2 * seen["output"])
    torch.testing.assert_close(δ["head_outputs"].transpose(1, 2).flatten(2), δ["output"] @ block.out.weight.T)
    shared = seen["values"].repeat_interleave(block.heads // block.kv_heads, 1)
    A = seen["weights"]
    torch.testing.assert_close(δ["weights"], δ["head_outputs"] @ shared.mT)
    # the Jacobian of softmax: δ_e = a ⊙ (δ_a − Σ a δ_a)
    torch.testing.assert_close(δ["scores"], A * (δ["weights"] - (A * δ["weights"]).sum(-1, keepdim=True)))
    groups = (block.kv_heads, -1)
    by_group = lambda z: z.unflatten(1, groups).sum(2)
    torch.testing.assert_close(δ["values"], by_group(A.mT @ δ["head_outputs"]))
    torch.testing.assert_close(δ["keys"], by_group(δ["scores"].mT @ seen["queries"]) / block.head_width**0.5)


def test_the_loss_may_use_what_was_read(float64):
    """A penalty on the weights trains the projection, though the output comes from the fused kernel."""
    block, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    with cut.trace(block, "weights") as seen:
        block(x)
    (seen["weights"] ** 2).sum().backward()
    assert block.qkv.weight.grad[:, :12].abs().min() > 0
    assert torch.equal(block.qkv.weight.grad[:, 12:], torch.zeros(6, 6))  # W_V has no part in them


def test_weights_of_a_step_with_a_cache(float64):
    block, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    with cut.trace(block, "weights") as whole:
        block(x, causal=True)
    cache = new_cache(block)
    with cut.trace(block, "weights") as seen:
        for t in range(5):
            block(x[:, t : t + 1], causal=True, cache=cache)
    for t, a in enumerate(seen.calls["weights"]):
        torch.testing.assert_close(a, whole["weights"][:, :, t : t + 1, : t + 1])


# ---------------------------------------------------------------------------------------------------------------------
# Only some examples and heads


PARTS = [
    (0,),
    (1, 2),
    (slice(None), 1),
    (slice(1, 3), [0, 2]),
    ([0, 2], [1, 1]),
    (slice(None), slice(0, 3, 2)),
    (torch.tensor([2, 0]), -1),
    (0, 1, 4),
    (0, range(2), 4, 3),
]


@pytest.mark.parametrize("only", PARTS, ids=str)
@pytest.mark.parametrize("kv_heads", [6, 2])
@pytest.mark.parametrize("n", [5, 40])
def test_only_a_part_bit_for_bit(only, kv_heads, n):
    block, x = MultiHeadAttention(12, 6, kv_heads=kv_heads), torch.randn(3, n, 12)
    real = torch.arange(n) < torch.tensor([3, n, 0])[:, None, None, None]
    hows = ({}, {"causal": True, "mask": real}, {"bias": torch.randn(6, n, n), "window": 3})
    index = tuple(list(part) if isinstance(part, range) else part for part in only)
    for how in hows:
        plain = block(x, **how)
        with cut.trace(block, "scores", "weights") as full:
            block(x, **how)
        with cut.trace(block, "scores", "weights", only=only) as seen:
            assert torch.equal(block(x, **how), plain)
        with cut.trace(block, "weights", only=only) as alone:
            block(x, **how)
        assert torch.equal(seen["scores"], full["scores"][index])
        assert torch.equal(seen["weights"], full["weights"][index])
        assert torch.equal(alone["weights"], full["weights"][index])


def test_only_the_part_is_computed():
    block, x = MultiHeadAttention(12, 6), torch.randn(3, 5, 12)
    made = []

    class Record(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            made.extend(y.numel() for y in (out if isinstance(out, tuple) else (out,)) if isinstance(y, torch.Tensor))
            return out

    def pairs(**how):
        """The most scores in one tensor; the fused kernel makes none."""
        made.clear()
        with torch.no_grad(), Record(), cut.trace(block, "weights", **how):
            block(x.repeat(1, 20, 1))
        return max(made)

    assert pairs() == 3 * 6 * 100 * 100
    assert pairs(only=(0, slice(0, 2))) == 2 * 100 * 100


def test_traces_of_different_parts_keep_their_own():
    block, x = MultiHeadAttention(12, 6), torch.randn(3, 5, 12)
    with cut.trace(block, "scores", "weights") as full:
        y = block(x)
    with (
        cut.trace(block, "weights", only=(0,)) as one,
        cut.trace(block, "weights", only=(slice(None), 2)) as other,
        cut.trace(block, "scores", "output", only=1) as third,
    ):
        assert torch.equal(block(x), y)
    assert torch.equal(one["weights"], full["weights"][0])
    assert torch.equal(other["weights"], full["weights"][:, 2])
    assert torch.equal(third["scores"], full["scores"][1])
    assert torch.equal(third["output"], y[1])
    with cut.trace(block, "weights", only=(0,)) as one, cut.trace(block, "weights") as all_:
        block(x)
    assert torch.equal(one["weights"], full["weights"][0])
    assert torch.equal(all_["weights"], full["weights"])


def test_a_part_after_an_edit_and_of_a_gradient(float64):
    block, x = MultiHeadAttention(12, 6), torch.randn(3, 5, 12)
    with cut.patch(block, {"scores": lambda e: 2 * e}), cut.trace(block, "weights", only=(1, 4)) as seen:
        block(x)
    with cut.trace(block, "scores", "weights", gradients=True) as full:
        block(x).square().sum().backward()
    torch.testing.assert_close(seen["weights"], torch.softmax(2 * full["scores"][1, 4], -1))
    with cut.trace(block, "scores", "weights", gradients=True, only=(slice(0, 2), 3)) as part:
        block(x).square().sum().backward()
    for tap in ("scores", "weights"):
        torch.testing.assert_close(part[tap], full[tap][:2, 3])
        torch.testing.assert_close(part.gradient[tap], full.gradient[tap][:2, 3])


def test_a_part_under_activation_checkpointing(float64):
    block, x = MultiHeadAttention(12, 6), torch.randn(3, 5, 12, requires_grad=True)
    with cut.trace(block, "weights") as full:
        (slope,) = torch.autograd.grad(block(x).square().sum(), x)
    with cut.trace(block, "weights", only=(0, 1)) as seen:
        y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        torch.testing.assert_close(torch.autograd.grad(y.square().sum(), x)[0], slope)
    assert torch.equal(seen["weights"], full["weights"][0, 1])


def test_a_part_that_is_not_there():
    block, x = MultiHeadAttention(12, 6), torch.randn(3, 5, 12)
    with (
        pytest.raises(
            ValueError, match=r"got only=\(0, 6\) for one of shape \(3, 6, 5, 5\) at 'weights'; ask for a part that is"
        ),
        cut.trace(block, "weights", only=(0, 6)),
    ):
        block(x)


# ---------------------------------------------------------------------------------------------------------------------
# The rest


def test_half_precision():
    block, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    y = block(x, causal=True)
    half = MultiHeadAttention(12, 3).half()
    half.load_state_dict(block.state_dict())
    with cut.trace(half, "weights") as seen:
        z = half(x.half(), causal=True)
    assert z.dtype == torch.float16
    assert seen["weights"].dtype == torch.float32
    torch.testing.assert_close(z.float(), y, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("batch", [1, 2])
def test_autocast_with_a_cache_in_full_precision(batch):
    block, x = MultiHeadAttention(12, 3), torch.randn(batch, 5, 12)
    y = block(x, causal=True)
    with torch.autocast("cpu", torch.float16), torch.no_grad():
        torch.testing.assert_close(block(x, causal=True).float(), y, rtol=1e-2, atol=2e-3)
        cache = new_cache(block, batch)
        parts = [block(part, causal=True, cache=cache) for part in x.split(1, 1)]
    torch.testing.assert_close(torch.cat(parts, 1).float(), y, rtol=1e-2, atol=2e-3)


def test_on_the_meta_device():
    with torch.device("meta"):
        block = MultiHeadAttention(6, 3)
        assert block(torch.randn(2, 5, 6)).device.type == "meta"


def test_it_prints_as_what_it_is():
    assert repr(MultiHeadAttention(12, 6, kv_heads=2)).startswith(
        "MultiHeadAttention(\n  width=12, heads=6, kv_heads=2, head_width=2\n  (qkv): Linear(12 → 20)\n"
    )


def test_bad_sizes():
    with pytest.raises(ValueError, match=r"multiple of heads, got width=12, heads=5; try heads=4 or heads=6$"):
        MultiHeadAttention(12, 5)
    with pytest.raises(ValueError, match=r"multiple of heads, got width=7, heads=3; try heads=1 or heads=7$"):
        MultiHeadAttention(7, 3)
    with pytest.raises(ValueError, match=r"a multiple of kv_heads, got heads=6, kv_heads=4; try kv_heads=3$"):
        MultiHeadAttention(12, 6, kv_heads=4)
    with pytest.raises(ValueError, match=r"a multiple of kv_heads, got heads=6, kv_heads=12; try kv_heads=6$"):
        MultiHeadAttention(12, 6, kv_heads=12)
    with pytest.raises(ValueError, match=r"multiple of heads, got width=2147483647, heads=3; try heads=1$"):
        MultiHeadAttention(2**31 - 1, 3)  # told at once, however large the width
    with pytest.raises(ValueError, match=r"got heads=2147483647, kv_heads=2147483646; try kv_heads=2147483647$"):
        MultiHeadAttention(2**31 - 1, 2**31 - 1, kv_heads=2**31 - 2)
    with pytest.raises(ValueError, match="heads must be above 0, got 0; try heads=1"):
        MultiHeadAttention(12, 0)
    with pytest.raises(ValueError, match="head_width must be above 0, got -2; try head_width=1"):
        MultiHeadAttention(12, 3, head_width=-2)
    with pytest.raises(ValueError, match=r"dropout must be a probability from 0 to 1, got 1.5"):
        MultiHeadAttention(12, 3, dropout=1.5)
    with pytest.raises(ValueError, match="bias must be True, False or 'qkv', got 'out'; 'qkv' leaves it out"):
        MultiHeadAttention(12, 3, bias="out")


@pytest.mark.untyped
def test_bad_input():
    block, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    with pytest.raises(ValueError, match=r"the last axis of x must have width 6, got shape \(2, 5, 7\)"):
        block(torch.randn(2, 5, 7))
    with pytest.raises(
        ValueError, match=r"x must have shape \(..., time, width\), got \(6,\); for one vector use x\[None\]"
    ):
        block(x[0, 0])
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        block(x.long())
    with pytest.raises(ValueError, match=r"the last axis of memory must have width 6, got shape \(2, 7, 5\)"):
        block(x, torch.randn(2, 7, 5))
    with pytest.raises(
        ValueError, match=r"queries, keys\) = \(2, 3, 5, 5\), got shape \(2, 5\); for padding of keys use"
    ):
        block(x, mask=torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"a mask must be boolean, True where a query may look, got torch.int64"):
        block(x, mask=torch.ones(5, 5, dtype=torch.long))
    with pytest.raises(ValueError, match="a MemoryCache is for cross attention, got it without a memory; pass memory="):
        block(x, cache=MemoryCache())
    with pytest.raises(
        ValueError, match="a LayerCache is for self-attention, got it with a memory; pass a MemoryCache"
    ):
        block(x, x, cache=new_cache(block))
    memory_cache = MemoryCache()
    block(x, x, cache=memory_cache)
    with pytest.raises(
        ValueError, match="belongs to one memory, got 5 keys in it and a memory of 4; begin with a new one"
    ):
        block(x, x[:, :4], cache=memory_cache)
    with pytest.raises(
        ValueError, match=r"width\) = \(3, 3, 2\) takes keys .* got \(2, 3, 5, 2\); make a cache for this"
    ):
        block(x, cache=new_cache(block, batch=3))
    with pytest.raises(ValueError, match=r"a cache holds 4 positions, got 0 \+ 5; make it with a larger context"):
        block(x, cache=new_cache(block, context=4))


@pytest.mark.untyped
@pytest.mark.parametrize("make", slow_but("rotary", BLOCKS))
def test_compiles(make):
    block, x, memory = make(), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
    torch._dynamo.reset()
    fast = torch.compile(block, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(fast(x, causal=True), block(x, causal=True))
    torch.testing.assert_close(fast(x, memory), block(x, memory))


def test_the_projection_is_one_matrix():
    block = MultiHeadAttention(6, 3)
    assert isinstance(block.qkv, Linear)
    assert block.qkv.weight.shape == (6, 18)
    assert {name for name, _ in block.named_parameters()} == {"qkv.weight", "qkv.bias", "out.weight", "out.bias"}
    assert isinstance(new_cache(block), LayerCache)


def test_the_module_is_the_bare_equation():
    torch.manual_seed(0)
    block = MultiHeadAttention(6, 3, bias=False).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    bare = multi_head_attention(x, block.qkv.weight, block.out.weight, heads=3)
    torch.testing.assert_close(block(x), bare, rtol=0, atol=1e-12)
