"""Block-sparse attention against attention written out, in value, gradient and memory."""

import math

import pytest
import torch
from torch.autograd import forward_ad
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from cutaway.blocks import Pattern, attend_sparse
from cutaway.blocks.attention_masks import sparse as engine
from cutaway.blocks.attention_masks import tiles
from cutaway.blocks.attention_masks.patterns import (
    blocks,
    causal,
    dense_mask,
    dilated,
    global_tokens,
    padding,
    prefix,
    random,
    segments,
    window,
)

IDS = torch.arange(19) // torch.tensor([[4], [7]])
PATTERNS = [
    causal(),
    window(5),
    window(3, causal=False),
    prefix(6),
    dilated(3, 4),
    global_tokens(2),
    blocks(3),
    random(1, block=4),
    padding(torch.tensor([0, 13])),
    segments(IDS),
    dense_mask(torch.rand(11, 13, generator=torch.Generator().manual_seed(0)) < 0.2),
    dense_mask(torch.rand(2, 3, 11, 13, generator=torch.Generator().manual_seed(0)) < 0.2),
    dense_mask(torch.rand(1, 3, 11, 13, generator=torch.Generator().manual_seed(0)) < 0.2),
    ~window(4),
    causal() & (window(2) | global_tokens(1)) & segments(IDS),
]


def inputs(queries=11, keys=13, width=5, values=5, lead=(2, 3), dtype=torch.float64):
    sizes = ((queries, width), (keys, width), (keys, values))
    return [torch.randn(*lead, *size, dtype=dtype, requires_grad=True) for size in sizes]


def written_out(q, k, v, pattern: Pattern, scale: float | None = None):
    """softmax over the visible keys, with nothing shared with the engine; rows without keys are zero."""
    n, m = q.shape[-2], k.shape[-2]
    seen = pattern.dense(n, m, offset=m - n)
    e = torch.exp(q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)) * seen
    return e / e.sum(-1, keepdim=True).clamp(min=1e-300) @ v


def agree(pattern, q, k, v, scale=None, block=4, rtol=1e-9, atol=1e-11):
    ours, peer = attend_sparse(q, k, v, pattern, scale, block=block), written_out(q, k, v, pattern, scale)
    torch.testing.assert_close(ours, peer, rtol=rtol, atol=atol)
    dy = torch.randn_like(peer)
    for x, y in zip(torch.autograd.grad(ours, (q, k, v), dy), torch.autograd.grad(peer, (q, k, v), dy)):
        torch.testing.assert_close(x, y, rtol=rtol, atol=atol)


def test_by_hand():
    """Scores 0, log 2 and log 3 for three keys: the weights are 1, 2 and 3 over their sum."""
    q, k = torch.ones(3, 1), torch.tensor([1.0, 2.0, 3.0]).log()[:, None]
    v = torch.tensor([[6.0], [12.0], [18.0]])
    # Window 2: the rows see keys 0, then 0 and 1, then 1 and 2.
    expected = torch.tensor([[6.0], [(6 + 2 * 12) / 3], [(2 * 12 + 3 * 18) / 5]])
    torch.testing.assert_close(attend_sparse(q, k, v, window(2), scale=1.0, block=2), expected)


@pytest.mark.parametrize("values", [5, 7], ids=["fused", "written"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_same_as_written_out(pattern, values):
    agree(pattern, *inputs(values=values))


@pytest.mark.parametrize("block", [1, 3, 4, 16, 64])
@pytest.mark.parametrize("lengths", [(16, 16), (19, 19), (1, 9), (6, 19), (9, 4)], ids=str)
def test_any_length_and_block(lengths, block):
    for pattern in (causal() & window(6), window(3, causal=False) | global_tokens(1), blocks(4)):
        agree(pattern, *inputs(*lengths), scale=0.7, block=block)


def test_same_as_torch():
    """An independent kernel, in rows that see a key."""
    q, k, v = inputs(200, 200, width=16, values=16, dtype=torch.float32)
    pattern = causal() & window(70)
    peer = scaled_dot_product_attention(q, k, v, attn_mask=pattern.dense(200, 200))
    torch.testing.assert_close(attend_sparse(q, k, v, pattern), peer)


def test_single_precision_and_long_rows():
    q, k, v = inputs(300, 300, width=8, values=8)
    exact = written_out(q, k, v, window(100))
    rough = attend_sparse(q.float(), k.float(), v.float(), window(100))
    torch.testing.assert_close(rough.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_close(dtype):
    """Written out, in float32; the fused kernel has its own test at PyTorch."""
    q, k, v = inputs(40, 40, width=8, values=4)
    exact = written_out(q, k, v, window(10))
    y = attend_sparse(q.to(dtype), k.to(dtype), v.to(dtype), window(10), block=16)
    assert y.dtype == dtype
    torch.testing.assert_close(y.double(), exact, rtol=0.03, atol=0.03)
    (dy,) = torch.autograd.grad(exact.sum(), v)
    (rough,) = torch.autograd.grad(y.sum(), v)
    torch.testing.assert_close(rough, dy, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("values", [5, 7], ids=["fused", "written"])
@pytest.mark.parametrize("pattern", PATTERNS[1::3], ids=repr)
def test_gradients(pattern, values):
    q, k, v = inputs(values=values)
    assert torch.autograd.gradcheck(lambda *x: attend_sparse(*x, pattern, block=4), (q, k, v), fast_mode=True)


def test_both_kernels_agree(monkeypatch):
    q, k, v = inputs()
    fused = attend_sparse(q, k, v, window(5), block=4)
    slopes = torch.autograd.grad(fused.square().sum(), (q, k, v))
    monkeypatch.setattr(engine, "_has_kernel", lambda q, v: False)
    plain = attend_sparse(q, k, v, window(5), block=4)
    torch.testing.assert_close(fused, plain)
    for x, y in zip(slopes, torch.autograd.grad(plain.square().sum(), (q, k, v))):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("values", [5, 7], ids=["fused", "written"])
def test_queries_without_keys_give_zeros_forwards_and_backwards(values):
    # Row 2 has no key inside a block that others see; rows 4–7 are a block without any.
    mask = torch.ones(12, 12).tril().bool()
    mask[2] = mask[4:8] = False
    q, k, v = inputs(12, 12, values=values, dtype=torch.float32)
    y = attend_sparse(q, k, v, dense_mask(mask), block=4)
    y.backward(torch.full_like(y, 1e3))
    assert torch.equal(y[..., [2, 4, 5, 6, 7], :], torch.zeros(2, 3, 5, values))
    assert torch.equal(q.grad[..., [2, 4, 5, 6, 7], :], torch.zeros(2, 3, 5, 5))
    assert not any(x.grad.isnan().any() for x in (q, k, v))
    nothing = attend_sparse(q, k, v, causal() & ~causal(), block=4)
    nothing.backward(torch.ones_like(nothing))
    assert torch.equal(nothing, torch.zeros(2, 3, 12, values))


def test_hidden_values_do_not_matter():
    """What no query sees may be anything but infinite, and has no gradient."""
    q, k, v = inputs(13, 13)
    pattern = causal() & segments(torch.arange(13)[None] // 4)
    y = attend_sparse(q, k, v, pattern, block=4)
    (dk,) = torch.autograd.grad(y[..., 4:8, :].sum(), k, retain_graph=True)
    assert torch.equal(dk[..., :4, :], torch.zeros(2, 3, 4, 5))
    assert torch.equal(dk[..., 8:, :], torch.zeros(2, 3, 5, 5))
    other = attend_sparse(q, torch.cat([k[..., :4, :], k[..., 4:, :] * -1e5], -2), v, pattern, block=4)
    assert torch.equal(other[..., :4, :], y[..., :4, :])


def test_leading_axes():
    q, k, v = inputs(lead=())
    agree(window(5), q, k, v)
    agree(window(5), *inputs(lead=(7,)))
    agree(segments(IDS), *inputs(lead=(5, 2, 3)))
    q, k, v = inputs(lead=(2, 40))  # more heads than a tile holds
    agree(segments(IDS) & window(5), q, k, v)
    shared = torch.randn(2, 1, 13, 5, dtype=torch.float64, requires_grad=True)  # one key head for all queries
    agree(window(5), inputs()[0], shared, inputs()[2])


def test_any_strides():
    q, k, v = inputs()
    expected = attend_sparse(q, k, v, window(5), block=4)
    heads_inside = [x.detach().transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(attend_sparse(*heads_inside, window(5), block=4), expected)
    columns = [x.detach().mT.contiguous().mT for x in (q, k, v)]
    assert torch.equal(attend_sparse(*columns, window(5), block=4), expected)
    # A gradient that comes as an expanded scalar has no strides at all.
    (ours,) = torch.autograd.grad(expected.sum(), v)
    (peer,) = torch.autograd.grad(written_out(q, k, v, window(5)).sum(), v)
    torch.testing.assert_close(ours, peer)


def test_nothing_to_attend_to():
    assert attend_sparse(torch.randn(0, 5), torch.randn(3, 5), torch.randn(3, 2), causal()).shape == (0, 2)
    empty = attend_sparse(torch.randn(3, 5), torch.randn(0, 5), torch.randn(0, 2), causal())
    assert torch.equal(empty, torch.zeros(3, 2))


# ---------------------------------------------------------------------------------------------------------------------
# Cost.


def saved_bytes(tokens: int) -> int:
    q, k, v = inputs(tokens, tokens, width=8, values=8, lead=(2,), dtype=torch.float32)
    kept = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.setdefault(id(t), t), lambda t: t):
        attend_sparse(q, k, v, window(64))
    return sum(t.numel() * t.element_size() for t in kept.values())


def test_memory_kept_for_backward_grows_with_the_tokens():
    assert saved_bytes(2048) == 2 * saved_bytes(1024)
    assert saved_bytes(2048) < 2 * 2048 * 2048  # half a byte for each pair of a head would be more


class Largest(TorchDispatchMode):
    """Notes the largest tensor that any operator makes."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out = operator(*args, **(kwargs or {}))
        made = out if isinstance(out, tuple | list) else [out]
        self.entries = max([self.entries, *(x.untyped_storage().size() // 4 for x in made if torch.is_tensor(x))])
        return out


@pytest.mark.parametrize("values", [8, 6], ids=["fused", "written"])
def test_no_step_makes_a_tensor_of_all_pairs(values):
    tokens = 2048
    q, k, v = (x.detach()[None] for x in inputs(tokens, tokens, 8, values, lead=(2,), dtype=torch.float32))
    rest = ([], "window(64)", 0.3, 64)
    with Largest() as seen:
        y, l = engine._forward(q, k, v, *rest)
        engine._backward(y, q, k, v, y, l, *rest)
    # Scores of one tile: a few rows of 64 queries that see 128 keys each, for 2 heads.
    assert seen.entries <= tiles.JOINED * 64 * 128 * 2
    assert seen.entries < tokens * tokens / 10


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives that it does not have, compilers, messages.


def test_second_derivatives_are_refused():
    q, k, v = inputs()
    (slope,) = torch.autograd.grad(attend_sparse(q, k, v, window(5), block=4).sum(), q, create_graph=True)
    with pytest.raises(
        RuntimeError, match="first derivatives by backward passes only, got a backward pass through its"
    ):
        slope.sum().backward()


def test_forward_derivatives_are_refused():
    q, k, v = (x.detach() for x in inputs())
    message = r"by backward passes only, got forward-mode tangents; use .*attend_open"
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        attend_sparse(forward_ad.make_dual(q, q), k, v, window(5), block=4)


@pytest.mark.untyped
def test_operators_are_registered_well():
    q, k, v = inputs()
    torch.library.opcheck(engine._attend, (q, k, v, [], "window(5)", 0.3, 4))
    torch.library.opcheck(engine._attend, (q, k, v, [IDS], "segments({})", 0.3, 4))
    y, l = engine._attend(q, k, v, [], "window(5)", 0.3, 4)
    given = [x.detach() for x in (y, q, k, v, y, l)]
    torch.library.opcheck(engine._attend_backward, (*given, [], "window(5)", 0.3, 4))


def compiled_agrees(attention, *given):
    torch._dynamo.reset()
    fast = torch.compile(attention, fullgraph=True, backend="aot_eager")
    free = [x for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
    x, y = fast(*given), attention(*given)
    torch.testing.assert_close(x, y)
    for s, t in zip(torch.autograd.grad(x.sin().sum(), free), torch.autograd.grad(y.sin().sum(), free)):
        torch.testing.assert_close(s, t)


@pytest.mark.slow
@pytest.mark.untyped
def test_compiles_with_a_pattern_made_inside():
    compiled_agrees(
        lambda q, k, v: attend_sparse(q, k, v, causal() & (window(3) | random(1, block=4)), block=4), *inputs()
    )


@pytest.mark.slow
@pytest.mark.untyped
def test_compiles_with_a_pattern_given():
    pattern = ~window(3)
    compiled_agrees(lambda q, k, v: attend_sparse(q, k, v, pattern, block=4), *inputs())
    compiled_agrees(lambda q, k, v, p: attend_sparse(q, k, v, p, block=4), *inputs(), causal() & segments(IDS))


@pytest.mark.untyped
def test_compiles_with_segments_that_the_compiler_does_not_know():
    torch._dynamo.reset()
    fast = torch.compile(
        lambda q, k, v, ids: attend_sparse(q, k, v, causal() & segments(ids), block=4),
        fullgraph=True,
        backend="aot_eager",
    )
    q, k, v = inputs()
    for ids in (IDS, IDS // 2, IDS.flip(0)):
        torch.testing.assert_close(fast(q, k, v, ids), written_out(q, k, v, causal() & segments(ids)))


@pytest.mark.slow
@pytest.mark.untyped
def test_compiles_for_any_length():
    torch._dynamo.reset()
    fast = torch.compile(
        lambda q, k, v: attend_sparse(q, k, v, window(3), block=4), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for n in (7, 9, 16):
        q, k, v = inputs(n, n)
        torch.testing.assert_close(fast(q, k, v), written_out(q, k, v, window(3)))


def test_patterns_for_another_batch():
    q, k, v = inputs()
    rule = r"a pattern for \(examples, heads\) = \(3, 1\) needs q of shape .* got leading axes \(2, 3\); q\[:, None\]"
    with pytest.raises(ValueError, match=rule):
        attend_sparse(q, k, v, padding(torch.tensor([1, 2, 3])))
    with pytest.raises(ValueError, match=r"= \(2, 1\) needs q of shape .* got leading axes \(2,\)"):
        attend_sparse(q[:, 0], k[:, 0], v[:, 0], padding(torch.tensor([1, 2])))


def test_bad_block():
    with pytest.raises(ValueError, match="block must be above 0, got 0; try block=1"):
        attend_sparse(*inputs(), causal(), block=0)


@pytest.mark.untyped
def test_bad_input():
    q, k, v = inputs()
    with pytest.raises(ValueError, match=r"the last axis of k must have width 5, got shape \(2, 3, 13, 4\)"):
        attend_sparse(q, k[..., :4], v, causal())
    with pytest.raises(ValueError, match="a value for every key, got 13 keys and 12 values"):
        attend_sparse(q, k, v[..., :12, :], causal())
    with pytest.raises(ValueError, match=r"one dtype, got torch.float64, torch.float64 and torch.float32"):
        attend_sparse(q, k, v.float(), causal())
    with pytest.raises(ValueError, match=r"q must be a float tensor, got torch.int64; convert it with q.float\(\)"):
        attend_sparse(q.long(), k, v, causal())
    with pytest.raises(
        ValueError, match=r"v must have shape \(..., tokens, width\), got shape \(5,\); for one vector v\["
    ):
        attend_sparse(q, k, v[0, 0, 0], causal())
