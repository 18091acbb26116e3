"""Attention: the notes' numbers, fused against written out over a grid, torch's own, the laws, and bad input."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from representative import slow_but
from torch.nn.functional import scaled_dot_product_attention

from cutaway.blocks import (
    AdditiveScores,
    BilinearScores,
    attend,
    attend_open,
    attention_scores,
    mix_values,
    pool_mean,
    sinusoids,
)
from cutaway.blocks.attention.dot_product import attend_last, attend_twice, dot_product_attention
from cutaway.blocks.attention_masks.patterns import causal, dense_mask, global_tokens, padding, prefix, window

# ---------------------------------------------------------------------------------------------------------------------
# By hand


KEYS = torch.tensor([[0.1, 0, 2], [5, 4, 3], [-4, 0, -3], [-0.2, 0, 1], [5, -3, -4]], dtype=torch.float64)
QUERIES = torch.tensor([[5.0, 0, 0], [-5, 0, 0], [5, 4, 0], [0, 0, 0]], dtype=torch.float64)


def test_the_dog_ate_the_cake():
    """N3 §5.5.2, with plain dot products; its weights are rounded to one decimal, and hold to eight."""
    done = attend_open(QUERIES, KEYS, torch.eye(5, dtype=torch.float64), score="dot")
    scores = [[0.5, 25, -20, -1, 25], [-0.5, -25, 20, 1, -25], [0.5, 41, -20, -1, 13], [0.0] * 5]
    torch.testing.assert_close(done.scores, torch.tensor(scores, dtype=torch.float64), rtol=0, atol=1e-15)
    weights = [[0, 0.5, 0, 0, 0.5], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0.2] * 5]
    torch.testing.assert_close(done.weights, torch.tensor(weights, dtype=torch.float64), rtol=0, atol=1e-8)
    assert torch.equal(done.output, done.weights)
    # With 1/√3 they still hold to four decimals: rounding hides exp(−19/√3) + exp(−20.5/√3) = 2.4e-5 at most.
    scaled = attend_open(QUERIES, KEYS, torch.eye(5, dtype=torch.float64)).weights
    torch.testing.assert_close(scaled, torch.tensor(weights, dtype=torch.float64), rtol=0, atol=2.5e-5)
    assert (scaled - done.weights).abs().max() > 2e-5


@pytest.mark.parametrize("run", [attend, lambda *a, **b: attend_open(*a, **b).output], ids=["fused", "open"])
def test_masked_scores_of_the_notes(run):
    """N3 §5.9.1: scores 3 5 −1 4 3, of which element 3 may see the first three."""
    q, k = torch.ones(1, 1), torch.tensor([[3.0], [5.0], [-1.0], [4.0], [3.0]])
    a = run(q, k, torch.eye(5), mask=torch.tensor([[True, True, True, False, False]]))
    assert a.mul(1000).round().tolist() == [[119, 879, 2, 0, 0]]


def test_causal_queries_stand_at_the_end_of_the_keys():
    zeros = lambda n: torch.zeros(n, 1)
    a = attend_open(zeros(2), zeros(3), torch.eye(3), causal=True).weights
    torch.testing.assert_close(a, torch.tensor([[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]))
    a = attend_open(zeros(3), zeros(2), torch.eye(2), causal=True).weights  # the first has nothing to see yet
    torch.testing.assert_close(a, torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]]))
    a = attend_open(zeros(3), zeros(3), torch.eye(3), causal=True, window=2).weights
    torch.testing.assert_close(a, torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]))
    a = attend_open(zeros(3), zeros(3), torch.eye(3), window=2).weights  # as many keys ahead
    torch.testing.assert_close(a, torch.tensor([[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 2, 1 / 2]]))


def by_loops(q, k, v, seen):
    """One query at a time, one key at a time, with 1/√d."""
    rows = []
    for i in range(len(q)):
        shares = {j: math.exp(float(q[i] @ k[j]) / math.sqrt(len(q[i]))) for j in range(len(k)) if seen[i, j]}
        total = sum(shares.values())
        rows.append(sum((e / total * v[j] for j, e in shares.items()), torch.zeros_like(v[0])))
    return torch.stack(rows)


def test_by_loops(float64):
    q, k, v = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7, 2)
    seen = torch.rand(5, 7) < 0.5
    seen[3] = False
    torch.testing.assert_close(attend(q, k, v, seen), by_loops(q, k, v, seen))
    torch.testing.assert_close(attend_open(q, k, v, seen).output, by_loops(q, k, v, seen))


# ---------------------------------------------------------------------------------------------------------------------
# Fused == written out


# leading axes of q, and of k and v
LEADS = {
    "2-D": ((), ()),
    "3-D": ((3,), (3,)),
    "4-D": ((2, 3), (2, 3)),
    "5-D": ((2, 3, 2), (2, 3, 2)),
    "grouped": ((2, 6), (2, 2)),
    "grouped 3-D": ((6,), (2,)),
    "grouped 5-D": ((2, 1, 6), (2, 3, 2)),
    "multi-query": ((2, 3), (2, 1)),
    "one batch of keys": ((2, 3), (3,)),
    "one batch of queries": ((3,), (2, 3)),
    "one query head": ((2, 1), (2, 3)),
    "keys without heads": ((2, 3), ()),
    "both broadcast": ((2, 1, 3), (4, 1)),
}
LENGTHS = [(5, 7), (7, 5), (6, 6), (1, 7)]


def whole(lead_q, lead_k):
    """The leading axes of the scores, found by asking torch for repeated heads and a product."""
    if lead_q and lead_k and lead_q[-1] != 1:
        lead_k = (*lead_k[:-1], lead_q[-1])
    return torch.broadcast_shapes(lead_q, lead_k)


def masks(lead, n, m):
    """Name, and the keywords that mask. One row of "blind" sees nothing."""
    some = torch.rand(n, m) < 0.6
    blind = some.clone()
    blind[n // 2] = False
    yield "all", {}
    yield "bool", {"mask": some}
    yield "blind", {"mask": blind}
    yield "one row for all", {"mask": some[:1]}
    yield "one column for all", {"mask": torch.rand(n, 1) < 0.7}
    yield "causal", {"causal": True}
    yield "window", {"window": 2}
    yield "causal window", {"causal": True, "window": 3}
    yield "pattern", {"mask": global_tokens(1) | window(2)}
    yield "causal pattern and window", {"mask": prefix(2), "causal": True, "window": 4}
    yield "pattern with mask", {"mask": dense_mask(blind), "causal": True}
    if lead:
        yield "by head", {"mask": torch.rand(lead[-1], n, m) < 0.6, "causal": True}
    if len(lead) > 1:
        real = torch.arange(m) < torch.randint(0, m + 1, (lead[-2], 1))
        yield "padding", {"mask": real[:, None, None, :], "causal": True}
        yield "padding and window", {"mask": real[:, None, None, :], "causal": True, "window": 2}
        yield "padding pattern", {"mask": padding(real.sum(-1)), "window": 3}
        yield "every pair", {"mask": torch.rand(*lead, n, m) < 0.6}


def compare(q, k, v, how, *others, rtol=1e-9, atol=1e-11):
    """Outputs and gradients of the two ways, in the precision of the inputs."""
    inputs = [x for x in (q, k, v, *others) if x is not None]
    fused, open_ = attend(q, k, v, **how), attend_open(q, k, v, **how)
    torch.testing.assert_close(fused, open_.output, rtol=rtol, atol=atol)
    assert not fused.isnan().any()
    back = torch.randn_like(fused)
    for x, y in zip(
        torch.autograd.grad((fused * back).sum(), inputs),
        torch.autograd.grad((open_.output * back).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(x, y, rtol=rtol, atol=atol)
    return open_


def inputs_for(lead_q, lead_k, n, m, d=4, f=4):
    q, k, v = torch.randn(*lead_q, n, d), torch.randn(*lead_k, m, d), torch.randn(*lead_k, m, f)
    return [x.requires_grad_() for x in (q, k, v)]


@pytest.mark.parametrize("leads", LEADS.values(), ids=LEADS)
def test_fused_is_open_for_every_mask(leads, float64):
    for n, m in LENGTHS:
        for name, how in masks(whole(*leads), n, m):
            done = compare(*inputs_for(*leads, n, m), how)
            assert done.output.shape == (*whole(*leads), n, 4), name
            assert done.scores.shape == done.weights.shape == (*whole(*leads), n, m), name
            blind = (done.scores == -torch.inf).all(-1)
            assert torch.equal(done.output[blind], torch.zeros_like(done.output[blind])), name
            torch.testing.assert_close(done.weights.sum(-1), 1.0 - blind.double())


@pytest.mark.parametrize("leads", [LEADS["2-D"], LEADS["grouped"], LEADS["5-D"]], ids=["2-D", "grouped", "5-D"])
@pytest.mark.parametrize("score", ["scaled_dot", "dot", "cosine", "additive", "bilinear", "own"])
@pytest.mark.parametrize("weight", ["soft", "hard", "linear", "own"])
def test_fused_is_open_for_every_score_and_weight(leads, score, weight, float64):
    scores = {"additive": AdditiveScores(4, 4, 3), "bilinear": BilinearScores(4, 4), "own": lambda q, k: -(q @ k.mT)}
    lead = whole(*leads)
    some = [how for name, how in masks(lead, 5, 7) if name in ("all", "blind", "causal window")]
    for with_bias, scale, how in product([False, True], [None, 0.3], some):
        q, k, v = inputs_for(*leads, 5, 7, f=6)
        bias = torch.randn(*lead[-1:], 5, 7, requires_grad=True) if with_bias else None
        own = {"own": lambda e: torch.sigmoid(e)}
        how = how | {"score": scores.get(score, score), "weight": own.get(weight, weight), "bias": bias, "scale": scale}
        compare(q, k, v, how, bias)


@pytest.mark.parametrize("f", [4, 6], ids=["one width", "wider values"])
@pytest.mark.parametrize("heads", [6, 2, 1], ids=["own keys", "grouped", "multi-query"])
def test_the_bias_learns(f, heads, float64):
    for shape, (_, how) in product([(5, 7), (6, 5, 7), (2, 1, 1, 7), (2, 6, 5, 7), (6, 1, 1)], masks((2, 6), 5, 7)):
        bias = torch.randn(shape, requires_grad=True)
        compare(*inputs_for((2, 6), (2, heads), 5, 7, f=f), how | {"bias": bias}, bias)


@pytest.mark.parametrize("leads", [((), ()), ((2, 3), (2, 3)), ((2, 6), (2, 2))], ids=["2-D", "4-D", "grouped"])
def test_sparse_patterns_are_open_too(leads, float64):
    """Long enough for the block-sparse engine: 200 tokens, of which each sees a few."""
    real = torch.tensor([150, 200])
    hows = [{"window": 8, "causal": True}, {"window": 8}, {"mask": global_tokens(2) | window(8), "causal": True}]
    if len(leads[0]) == 2:
        hows.append({"mask": window(8) & padding(real)})
    for how, (n, m), score in product(hows, [(200, 200), (70, 200)], ["scaled_dot", "cosine"]):
        compare(*inputs_for(*leads, n, m), how | {"score": score})


def test_keys_and_values_may_be_grouped_differently(float64):
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 7, 4), torch.randn(2, 3, 7, 4)
    compare(*(x.requires_grad_() for x in (q, k, v)), {"causal": True})


@settings(max_examples=40)
@given(data=st.data())
def test_fused_is_open_for_any_mask_and_shape(data):
    size = st.integers(1, 5)
    n, m, d, f, g, group, b = (data.draw(size) for _ in range(7))
    how = {
        "causal": data.draw(st.booleans()),
        "window": data.draw(st.none() | st.integers(1, 4)),
        "scale": data.draw(st.none() | st.floats(-2, 2)),
        "score": data.draw(st.sampled_from(["dot", "scaled_dot", "cosine"])),
    }
    torch.manual_seed(data.draw(st.integers(0, 999)))
    if data.draw(st.booleans()):
        how["mask"] = torch.rand(*(data.draw(st.sampled_from((1, x))) for x in (b, g * group, n, m))) < 0.5
    q, k, v = (
        torch.randn(b, heads, length, width, dtype=torch.float64, requires_grad=True)
        for heads, length, width in ((g * group, n, d), (g, m, d), (g, m, f))
    )
    compare(q, k, v, how)


@pytest.mark.parametrize("scale", [0.0, -1.0, -0.3])
def test_scales_that_are_not_above_zero(scale):
    q, k, v = (torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    for how in ({"causal": True}, {"mask": torch.ones(5, 5, dtype=torch.bool).tril()}, {}):
        compare(q, k, v, how | {"scale": scale})


def test_no_keys_and_no_queries():
    for heads in (2, 1):
        q, k, v = torch.randn(2, 2, 3, 4), torch.randn(2, heads, 0, 4), torch.randn(2, heads, 0, 6)
        for how in ({}, {"causal": True}, {"window": 2, "causal": True}, {"mask": torch.ones(3, 0, dtype=torch.bool)}):
            assert torch.equal(attend(q, k, v, **how), torch.zeros(2, 2, 3, 6))
            assert torch.equal(attend_open(q, k, v, **how).output, torch.zeros(2, 2, 3, 6))
        assert attend(q[:, :, :0], q, q, causal=True).shape == (2, 2, 0, 4)
    assert attend(torch.randn(0, 2, 3, 4), torch.randn(0, 2, 5, 4), torch.randn(0, 2, 5, 4)).shape == (0, 2, 3, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("f", [4, 6])
def test_blind_rows_in_every_precision(dtype, heads, f):
    mask = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    mask[0, 0, 2] = False
    for bias in (None, torch.zeros(5, 7).to(dtype)):
        for run in (attend, lambda *a, **b: attend_open(*a, **b).output):
            q, k, v = (
                torch.randn(2, h, n, w).to(dtype).requires_grad_()
                for h, n, w in ((4, 5, 4), (heads, 7, 4), (heads, 7, f))
            )
            y = run(q, k, v, mask=mask, bias=bias)
            assert y.dtype == dtype
            assert torch.equal(y[0, :, 2], torch.zeros_like(y[0, :, 2]))
            y.square().sum().backward()
            assert torch.equal(q.grad[0, :, 2], torch.zeros_like(q.grad[0, :, 2]))
            assert all(x.grad.isfinite().all() for x in (q, k, v))


def test_a_bias_of_minus_infinity_blinds_as_a_mask_does(float64):
    mask = torch.rand(5, 7) < 0.5
    mask[1] = False
    q, k, v = inputs_for((2, 3), (2, 3), 5, 7)
    bias = torch.zeros(5, 7).masked_fill(~mask, -torch.inf)
    for run in (attend, lambda *a, **b: attend_open(*a, **b).output):
        one, other = run(q, k, v, mask=mask), run(q, k, v, bias=bias)
        torch.testing.assert_close(one, other)
        for x, y in zip(torch.autograd.grad(one.sum(), (q, k, v)), torch.autograd.grad(other.sum(), (q, k, v))):
            torch.testing.assert_close(x, y)


# ---------------------------------------------------------------------------------------------------------------------
# Independent implementations, precision, derivatives


@pytest.mark.parametrize("f", [4, 6])
def test_torchs_kernel(f, float64):
    q, k, v = inputs_for((2, 6), (2, 2), 6, 6, f=f)
    bias = torch.randn(2, 6, 6, 6)
    some = torch.rand(2, 1, 6, 6) < 0.7
    for ours, theirs in [
        ({}, {}),
        ({"causal": True}, {"is_causal": True}),
        ({"mask": some}, {"attn_mask": some}),
        ({"bias": bias}, {"attn_mask": bias}),
        ({"scale": 0.7}, {"scale": 0.7}),
    ]:
        peer = scaled_dot_product_attention(q, k, v, enable_gqa=True, **theirs)
        torch.testing.assert_close(attend_open(q, k, v, **ours).output, peer)
        torch.testing.assert_close(attend(q, k, v, **ours), peer)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_softmax_of_half_precision_runs_in_float32(dtype):
    q, k = torch.randn(2, 5, 64).to(dtype), torch.randn(2, 7, 64).to(dtype)
    v = torch.eye(7, dtype=dtype).expand(2, 7, 7)
    done = attend_open(q, k, v)
    assert done.scores.dtype == done.weights.dtype == torch.float32
    assert done.output.dtype == attend(q, k, v).dtype == dtype
    exact = attend_open(q.double(), k.double(), v.double())
    torch.testing.assert_close(done.weights.double(), exact.weights, rtol=1e-5, atol=1e-7)  # half would be off by 1e-3
    error = torch.finfo(dtype).eps
    torch.testing.assert_close(attend(q, k, v).double(), exact.output, rtol=2 * error, atol=2 * error)


@pytest.mark.parametrize("run", [attend, lambda *a, **b: attend_open(*a, **b).output], ids=["fused", "open"])
def test_scores_beyond_half_precision(run):
    """300 · 300 = 90,000 is beyond float16, whose largest number is 65,504."""
    q = torch.full((1, 1), 300.0, dtype=torch.float16)
    k = torch.tensor([[300.0], [299.0]], dtype=torch.float16)
    assert torch.equal(run(q, k, torch.eye(2, dtype=torch.float16)), torch.tensor([[1.0, 0.0]], dtype=torch.float16))


def test_a_score_module_in_half_precision():
    score = BilinearScores(4, 3).half()
    q, k, v = torch.randn(5, 4).half(), torch.randn(7, 3).half(), torch.randn(7, 2).half()
    done = attend_open(q, k, v, score=score)
    assert (done.output.dtype, done.scores.dtype) == (torch.float16, torch.float32)


def test_autocast():
    q, k, v = torch.randn(2, 5, 4), torch.randn(2, 7, 4).bfloat16(), torch.randn(2, 7, 4).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(attend(q, k, v), attend_open(q, k, v).output, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("score", ["scaled_dot", "cosine", "additive"])
def test_second_derivatives(score, float64):
    a = AdditiveScores(3, 3, 2) if score == "additive" else score
    for name, how in masks((2, 2), 3, 4):
        if name in ("all", "blind", "causal", "pattern", "padding"):
            q, k, v = inputs_for((2, 2), (2, 1), 3, 4, d=3, f=2)
            run = lambda q, k, v, how=how: attend_open(q, k, v, score=a, **how)[::2]  # scores have infinities
            assert torch.autograd.gradcheck(run, (q, k, v), fast_mode=True), name
            assert torch.autograd.gradgradcheck(run, (q, k, v), fast_mode=True), name


def test_gradients_of_the_fused_kernel_are_differentiated_again(float64):
    """By the written-out equation; once, they are those of `attend`, bit for bit."""
    for name, how in masks((2, 2), 3, 4):
        if name not in ("all", "blind", "padding"):
            continue
        q, k, v = inputs_for((2, 2), (2, 2), 3, 4, d=3, f=3)
        run = lambda q, k, v, how=how: attend_twice(q, k, v, **how)
        assert torch.autograd.gradgradcheck(run, (q, k, v), fast_mode=True), name
        g = torch.randn_like(run(q, k, v))
        ours, fused = (torch.autograd.grad(f(q, k, v, **how), (q, k, v), g) for f in (attend_twice, attend))
        assert all(map(torch.equal, ours, fused)), name
        frozen = attend_twice(q.detach(), k, v.detach(), **how)
        assert torch.equal(torch.autograd.grad(frozen, k, g)[0], fused[1]), name


@pytest.mark.parametrize("weight", ["soft", "linear"])
def test_forward_derivatives(weight, float64):
    """jvp against the quotient of differences, (f(x + hẋ) − f(x − hẋ)) / 2h."""
    for name, how in masks((2, 2), 3, 4):
        x = [v.detach() for v in inputs_for((2, 2), (2, 1), 3, 4, d=3, f=2)]
        move = [torch.randn_like(v) for v in x]
        run = lambda q, k, v, how=how: attend_open(q, k, v, weight=weight, **how).output
        _, slope = torch.func.jvp(run, tuple(x), tuple(move))
        h = 1e-6
        ahead, behind = (run(*(v + step * d for v, d in zip(x, move))) for step in (h, -h))
        torch.testing.assert_close(slope, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-8, msg=name)


def test_dropout_draws_the_same_on_both_ways(float64):
    q, k, v = inputs_for((2, 3), (2, 3), 5, 7)
    for how in ({}, {"causal": True}, {"window": 2}, {"mask": torch.rand(5, 7) < 0.5}):
        torch.manual_seed(1)
        fused = attend(q, k, v, dropout=0.4, **how)
        torch.manual_seed(1)
        done = attend_open(q, k, v, dropout=0.4, **how)
        torch.testing.assert_close(fused, done.output)
        assert not torch.allclose(fused, attend(q, k, v, **how))
        torch.testing.assert_close(done.weights, attend_open(q, k, v, **how).weights)  # those before dropping


def test_dropout_keeps_the_mean(float64):
    q, k, v = torch.randn(1, 4), torch.randn(7, 4), torch.randn(7, 4)
    many = attend(q.expand(20_000, 1, 4), k, v, dropout=0.5)
    # a single draw has standard deviation √(Σ a² v²) per entry; a mean of 20,000 is √20,000 ≈ 141 times as sure
    spread = ((attend_open(q, k, v).weights ** 2) @ v**2).sqrt() / math.sqrt(20_000)
    assert ((many.mean(0) - attend(q, k, v)).abs() < 5 * spread).all()


# ---------------------------------------------------------------------------------------------------------------------
# Laws


def test_keys_may_be_permuted_and_queries_permute_the_output(float64):
    q, k, v = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
    p, r = torch.randperm(5), torch.randperm(7)
    torch.testing.assert_close(attend(q[:, p], k[:, r], v[:, r]), attend(q, k, v)[:, p])


def test_self_attention_is_equivariant_and_its_mean_invariant(float64):
    x = torch.randn(2, 7, 4)
    p = torch.tensor([3, 1, 6, 0, 5, 2, 4])
    f = lambda x, **how: attend(x, x, x, **how)
    torch.testing.assert_close(f(x[:, p]), f(x)[:, p])
    torch.testing.assert_close(pool_mean(f(x[:, p])), pool_mean(f(x)))
    # lost under a mask that knows places, and under positions that are added
    assert not torch.allclose(f(x[:, p], causal=True), f(x, causal=True)[:, p], atol=0.01)
    assert not torch.allclose(f(x[:, p], window=2), f(x, window=2)[:, p], atol=0.01)
    placed = lambda x: x + sinusoids(torch.arange(7), 4)
    assert not torch.allclose(f(placed(x[:, p])), f(placed(x))[:, p], atol=0.01)
    # kept under a mask that goes along: whom one may see, not which places
    mask = torch.rand(7, 7) < 0.6
    torch.testing.assert_close(f(x[:, p], mask=mask[p][:, p]), f(x, mask=mask)[:, p])


def test_the_context_vector_has_one_length_for_any_number_of_inputs():
    for n in (1, 5, 500):
        assert attend(torch.randn(1, 4), torch.randn(n, 4), torch.randn(n, 3)).shape == (1, 3)


@pytest.mark.parametrize("run", [attend, lambda *a, **b: attend_open(*a, **b).output], ids=["fused", "open"])
def test_nothing_comes_from_the_future(run):
    x = torch.randn(1, 2, 9, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(run(x, x, x, causal=True)[:, :, 4].sum(), x)
    assert torch.equal(slope[:, :, 5:], torch.zeros(1, 2, 4, 4))
    assert slope[:, :, :5].abs().sum(-1).min() > 0


def test_the_output_lies_between_the_values(float64):
    v = torch.randn(7, 3)
    y = attend(torch.randn(100, 4), torch.randn(7, 4), v)
    assert (y <= v.max(0).values + 1e-12).all()
    assert (y >= v.min(0).values - 1e-12).all()


def test_the_root_of_the_width_keeps_softmax_from_saturating(float64):
    """Scores of variance one have the entropy log n − 1/2 on average, whatever d; without √d it goes to 0.

    For independent scores e ~ N(0, σ²), H = log Σ exp(e) − Σ a e → (log n + σ²/2) − σ² as n grows.
    """
    n = 1024
    entropy = lambda a: -(a * a.clamp(min=1e-300).log()).sum(-1).mean().item()
    slope = lambda a: (a * (1 - a)).sum(-1).mean().item()  # Σ ∂a_i/∂e_i, 0 for a one-hot row
    expected = math.log(n) - 0.5
    measured = {}
    for d in (4, 16, 64, 256, 1024):
        q, k = torch.randn(400, d), torch.randn(n, d)
        scaled, plain = (attend_open(q, k, k, score=score).weights for score in ("scaled_dot", "dot"))
        measured[d] = entropy(plain), slope(plain)
        assert entropy(scaled) == pytest.approx(expected, abs=0.15)
        assert slope(scaled) > 0.99
    entropies, slopes = zip(*measured.values())
    assert sorted(entropies, reverse=True) == list(entropies)
    assert entropies[-1] < 0.35  # of 6.43: one key takes nearly all
    assert slopes[-1] < 0.15


def test_one_hot_keys_make_a_table_that_is_looked_up(float64):
    table = torch.randn(5, 3)
    index = torch.tensor([4, 0, 2])
    one_hot = torch.nn.functional.one_hot(index, 5).double()
    torch.testing.assert_close(attend(one_hot, torch.eye(5), table, score="dot", weight="linear"), table[index])
    torch.testing.assert_close(attend(one_hot, torch.eye(5), table, score="dot", weight="hard"), table[index])


# ---------------------------------------------------------------------------------------------------------------------
# Parts, and bad input


@pytest.mark.parametrize("only", [(0,), (1, 2), (slice(None), 3), (slice(0, 1), [0, 5]), (-1, slice(1, 4))], ids=str)
def test_only_some_scores(only, float64):
    for name, how in masks((2, 6), 5, 7):
        q, k, _ = inputs_for((2, 6), (2, 2), 5, 7)
        for bias in (None, torch.randn(5, 7), torch.randn(6, 5, 7), torch.randn(2, 1, 1, 7)):
            full, part = attention_scores(q, k, bias=bias, **how), attention_scores(q, k, bias=bias, only=only, **how)
            torch.testing.assert_close(part, full[only], msg=name)
    q, k = torch.randn(3, 5, 4), torch.randn(2, 1, 7, 4)  # leading axes that broadcast
    torch.testing.assert_close(attention_scores(q, k, only=(1, 2)), attention_scores(q, k)[1, 2])


def test_values_are_mixed_by_group(float64):
    a, v = torch.rand(2, 6, 5, 7), torch.randn(2, 2, 7, 3)
    torch.testing.assert_close(mix_values(a, v), a @ v[:, [0, 0, 0, 1, 1, 1]])


@pytest.mark.untyped
@pytest.mark.parametrize("run", [attend, attend_open])
class TestBadInput:
    def test_dtypes(self, run):
        x = torch.randn(2, 5, 4)
        with pytest.raises(ValueError, match=r"k must be a float tensor, got torch.int64; convert it with k.float\(\)"):
            run(x, x.long(), x)
        with pytest.raises(
            ValueError, match=r"one dtype, got torch.float32 for q and torch.float64 for v; use .to\(\)"
        ):
            run(x, x, x.double())

    def test_axes(self, run):
        x = torch.randn(2, 5, 4)
        with pytest.raises(
            ValueError, match=r"q must have shape \(..., length, width\), got \(4,\); for one vector use q"
        ):
            run(x[0, 0], x, x)
        with pytest.raises(
            ValueError, match=r"must broadcast, got q of shape \(2, 3, 5, 4\), k of shape \(3, 3, 5, 4\)"
        ):
            run(torch.randn(2, 3, 5, 4), torch.randn(3, 3, 5, 4), torch.randn(3, 3, 5, 4))

    def test_lengths_and_widths(self, run):
        x = torch.randn(2, 5, 4)
        with pytest.raises(
            ValueError, match="every key needs its value, got 5 keys and 4 values; give k and v one length"
        ):
            run(x, x, x[:, :4])
        with pytest.raises(
            ValueError, match=r"one width, got 4 and 3; map them to one, or pass score=BilinearScores\(4, 3"
        ):
            run(x, x[..., :3], x)

    def test_heads(self, run):
        q, k = torch.randn(2, 6, 5, 4), torch.randn(2, 4, 5, 4)
        with pytest.raises(ValueError, match="a multiple of those of k, got 6 and 4; try 4 or 8 query heads"):
            run(q, k, k)
        with pytest.raises(ValueError, match="a multiple of those of v, got 6 and 4; try 4 or 8 query heads"):
            run(q, q, k)

    def test_masks(self, run):
        x = torch.randn(2, 3, 5, 4)
        with pytest.raises(
            ValueError, match=r"must be boolean, True where a query may look, got torch.float32; use mask.bo"
        ):
            run(x, x, x, torch.ones(5, 5))
        with pytest.raises(ValueError, match=r"must be a boolean tensor or a pattern, got list; use torch.as_tensor"):
            run(x, x, x, [[True]])
        fits = r"a mask must broadcast to the scores, \(..., queries, keys\) = \(2, 3, 5, 5\), got shape "
        for shape in ((5, 4), (4, 5), (5,), (2, 5), (2, 5, 5), (7, 1, 5, 5), (1, 2, 3, 5, 5)):
            mask = torch.ones(shape, dtype=torch.bool)
            with pytest.raises(ValueError, match=fits + rf"\({', '.join(map(str, shape))},?\); for padding of keys"):
                run(x, x, x, mask)
        with pytest.raises(ValueError, match=r"\(2, 5, 5\), got shape \(2, 1, 5, 5\)"):  # would make (2, 2, 5, 4) of it
            run(x[:, 0], x[:, 0], x[:, 0], torch.ones(2, 1, 5, 5, dtype=torch.bool))

    def test_biases(self, run):
        x = torch.randn(2, 3, 5, 4)
        with pytest.raises(
            ValueError, match=r"a bias must be a float tensor, got torch.bool; for what a query may see use"
        ):
            run(x, x, x, bias=torch.ones(5, 5, dtype=torch.bool))
        with pytest.raises(
            ValueError, match=r"a bias must broadcast .* = \(2, 3, 5, 5\), got shape \(3,\); for one number"
        ):
            run(x, x, x, bias=torch.ones(3))

    def test_numbers(self, run):
        x = torch.randn(2, 3, 5, 4)
        for q in (x, x[:, :, :1]):
            with pytest.raises(ValueError, match="window must be above 0, got 0; try window=1"):
                run(q, x, x, causal=True, window=0)
        with pytest.raises(
            ValueError, match="dropout must be a probability from 0 to 1, got 20; for a percentage divide"
        ):
            run(x, x, x, dropout=20)
        with pytest.raises(ValueError, match="score must be one of dot, scaled_dot, cosine, got 'dott'"):
            run(x, x, x, score="dott")
        with pytest.raises(ValueError, match="weight must be one of soft, hard, linear, got 'softly'"):
            run(x, x, x, weight="softly")


@pytest.mark.untyped
def test_patterns_by_example_need_examples():
    x = torch.randn(3, 200, 4)
    with pytest.raises(ValueError, match=r"got leading axes \(3,\); q\[:, None\] for one head"):
        attend(x, x, x, window(4) & padding(torch.tensor([7, 9, 11])))


@pytest.mark.untyped
@pytest.mark.parametrize(
    "how",
    slow_but(
        "pattern",
        {
            "all": {},
            "causal": {"causal": True},
            "window": {"window": 3, "causal": True},
            "pattern": {"mask": causal() & window(2)},
        },
    ),
)
def test_compiles(how):
    q, k, v = torch.randn(2, 6, 9, 4), torch.randn(2, 2, 9, 4), torch.randn(2, 2, 9, 4)
    torch._dynamo.reset()
    fast = torch.compile(lambda q, k, v: attend(q, k, v, **how), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(fast(q, k, v), attend(q, k, v, **how))


def test_the_bare_equation_is_attention_with_nothing_added():
    """Broadcast keys and a mask that hides nothing take the long way, to the same values."""
    q, k, v = torch.randn(2, 3, 5, 4).double(), torch.randn(3, 7, 4).double(), torch.randn(3, 7, 2).double()
    bare = dot_product_attention(q, k.expand(2, 3, 7, 4), v.expand(2, 3, 7, 2))
    for found in (attend_open(q, k, v), attend_open(q, k, v, mask=torch.ones(5, 7, dtype=torch.bool))):
        for x, y in zip(found, bare, strict=True):
            torch.testing.assert_close(x, y, rtol=0, atol=1e-12)
    torch.testing.assert_close(attend(q, k, v), bare.output, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_the_last_query_alone(window: int | None, kv_heads: int):
    q, k, v = (
        torch.randn(2, 6, 1, 4).double(),
        torch.randn(2, kv_heads, 7, 4).double(),
        torch.randn(2, kv_heads, 7, 5).double(),
    )
    expected = attend_open(q, k, v, causal=True, window=window).output
    torch.testing.assert_close(attend_last(q, k, v, window), expected, rtol=0, atol=1e-12)
