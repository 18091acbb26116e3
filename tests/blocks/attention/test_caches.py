"""Caches by themselves: growing, forking, picking, going back; with attention in test_multihead.py."""

import pytest
import torch

from cutaway.blocks import Cache, LayerCache, MemoryCache, MultiHeadAttention


def filled(batch=2, length=3, depth=2, context=7):
    """A cache of random keys and values, with padding in front of the second example and a memory."""
    cache = Cache(depth, batch, heads=3, context=context, width=5, like=torch.zeros((), dtype=torch.float64))
    for layer in cache.layers:
        layer.extend(torch.randn(batch, 3, length, 5).double(), torch.randn(batch, 3, length, 5).double())
    for memory in cache.memories:
        memory.keys, memory.values = torch.randn(batch, 3, 4, 5), torch.randn(batch, 3, 4, 5)
    cache.real = torch.arange(length) >= torch.arange(batch)[:, None]
    return cache


def contents(cache):
    """All that later passes can see of it."""
    for layer in cache.layers:
        yield layer.keys[:, :, : layer.length]
        yield layer.values[:, :, : layer.length]
    for memory in cache.memories:
        yield memory.keys
        yield memory.values
    yield cache.real


def assert_same(one, other):
    for x, y in zip(contents(one), contents(other), strict=True):
        assert torch.equal(x, y)
    assert (one.length, one.context, one.batch) == (other.length, other.context, other.batch)


def test_what_goes_in_comes_out():
    cache = LayerCache(torch.empty(2, 3, 7, 5), torch.empty(2, 3, 7, 4))
    keys, values = torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 4)
    for start, stop in ((0, 3), (3, 4), (4, 6)):
        k, v = cache.extend(keys[:, :, start:stop], values[:, :, start:stop])
        assert torch.equal(k, keys[:, :, :stop])
        assert torch.equal(v, values[:, :, :stop])
        assert cache.length == stop


def test_buffers_are_allocated_once():
    cache = LayerCache(torch.empty(2, 3, 7, 5), torch.empty(2, 3, 7, 5))
    where = cache.keys.data_ptr()
    for _ in range(7):
        k, _ = cache.extend(torch.randn(2, 3, 1, 5), torch.randn(2, 3, 1, 5))
        assert k.data_ptr() == where


def test_the_past_is_a_constant_and_a_graph_keeps_its_own():
    cache = LayerCache(torch.empty(1, 1, 3, 2), torch.empty(1, 1, 3, 2))
    first = torch.randn(1, 1, 1, 2, requires_grad=True)
    cache.extend(first, first)
    second = torch.randn(1, 1, 1, 2, requires_grad=True)
    k, v = cache.extend(second, second)
    cache.length = 0
    cache.extend(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2))  # overwrites the buffers
    torch.testing.assert_close(k, torch.cat([first, second], 2))
    slopes = torch.autograd.grad((k * v).sum(), (first, second), allow_unused=True)
    assert slopes[0] is None
    torch.testing.assert_close(slopes[1], 2 * second)


def test_a_fork_repeats_each_example():
    cache = filled()
    forked = cache.fork(3)
    assert (forked.batch, forked.length, forked.context) == (6, 3, 7)
    for x, y in zip(contents(cache), contents(forked), strict=True):
        assert torch.equal(y, x[[0, 0, 0, 1, 1, 1]])
    assert_same(cache.fork(1), cache)


def test_pick_is_indexing():
    cache = filled(batch=3)
    rows = torch.tensor([2, 0, 0, 1])
    picked = cache.pick(rows)
    for x, y in zip(contents(cache), contents(picked), strict=True):
        assert torch.equal(y, x[rows])
    assert_same(cache.pick(torch.arange(3)), cache)
    assert_same(cache.pick(rows).pick(torch.tensor([1, 3])), cache.pick(torch.tensor([0, 1])))
    assert_same(cache.fork(2), cache.pick(torch.tensor([0, 0, 1, 1, 2, 2])))


def test_copies_go_on_by_themselves():
    cache = filled()
    before = [x.clone() for x in contents(cache)]
    for copy in (cache.fork(1), cache.pick(torch.tensor([0, 1]))):
        for layer in copy.layers:
            layer.extend(torch.zeros(2, 3, 2, 5).double(), torch.zeros(2, 3, 2, 5).double())
        copy.keep(1)
        copy.layers[0].keys.zero_()
    for x, y in zip(contents(cache), before, strict=True):
        assert torch.equal(x, y)


def test_keep_goes_back():
    cache = filled(length=5)
    shorter = [x[:, :, :2] for x in contents(cache) if x.ndim == 4 and x.shape[2] == 5]
    assert cache.keep(2) is cache
    assert cache.length == 2
    assert cache.real.shape == (2, 2)
    assert all(torch.equal(x, y) for x, y in zip(contents(cache), shorter))
    assert_same(cache.keep(2), cache)
    cache.keep(0)
    assert (cache.length, cache.real) == (0, None)
    assert cache.memories[0].keys is not None  # it does not depend on what was decoded


def test_a_shared_prefix_is_computed_once(float64):
    """Fork after a prefix, go on in three ways, return to the prefix: as three passes from the start."""
    block = MultiHeadAttention(6, 3)
    prefix, ways = torch.randn(1, 4, 6), torch.randn(3, 2, 6)
    expected = block(torch.cat([prefix.expand(3, 4, 6), ways], 1), causal=True)[:, 4:]
    cache = Cache(1, 1, 3, 7, 2, block.qkv.weight)
    block(prefix, causal=True, cache=cache.layers[0])
    forked = cache.fork(3)
    torch.testing.assert_close(block(ways, causal=True, cache=forked.layers[0]), expected, rtol=1e-12, atol=1e-12)
    for i in range(3):
        one = block(ways[i : i + 1], causal=True, cache=cache.keep(4).layers[0])
        torch.testing.assert_close(one[0], expected[i], rtol=1e-12, atol=1e-12)


def test_real_tokens_are_noted():
    cache = Cache(1, 2, 1, 7, 1, torch.zeros(()))
    tokens = torch.zeros(2, 3, dtype=torch.long)
    assert cache.see(tokens) is None
    cache.layers[0].extend(torch.zeros(2, 1, 3, 1), torch.zeros(2, 1, 3, 1))
    real = torch.tensor([[False, True, True], [True, True, True]])
    seen = cache.see(tokens, real)  # all before were real
    assert torch.equal(seen, torch.cat([torch.ones(2, 3, dtype=torch.bool), real], 1))
    assert torch.equal(cache.see(tokens, real), seen)  # asked again, as after a pass that failed: not noted twice
    cache.layers[0].extend(torch.zeros(2, 1, 3, 1), torch.zeros(2, 1, 3, 1))
    assert torch.equal(cache.see(tokens[:, :1]), torch.cat([seen, torch.ones(2, 1, dtype=torch.bool)], 1))


def test_dtype_and_device_of_the_model():
    cache = Cache(2, 3, 4, 5, 6, torch.zeros((), dtype=torch.float64, device="meta"))
    assert cache.layers[1].values.shape == (3, 4, 5, 6)
    assert (cache.layers[0].keys.dtype, cache.layers[0].keys.device.type) == (torch.float64, "meta")
    assert isinstance(cache.memories[1], MemoryCache)


def test_bad_sizes():
    with pytest.raises(ValueError, match="context must be above 0, got 0; try context=1"):
        Cache(1, 2, 3, 0, 5, torch.zeros(()))
    with pytest.raises(ValueError, match="copies must be above 0, got 0; try copies=1"):
        filled().fork(0)
    with pytest.raises(ValueError, match="length must be from 0 to 3, got 4; a cache can only go back"):
        filled().keep(4)
    cache = filled()
    with pytest.raises(ValueError, match=r"a cache holds 7 positions, got 3 \+ 5; make it with a larger context, or"):
        cache.layers[0].extend(torch.zeros(2, 3, 5, 5), torch.zeros(2, 3, 5, 5))
    assert cache.length == 3


@pytest.mark.untyped
@pytest.mark.parametrize("shape", [(1, 3, 1, 5), (2, 1, 1, 5), (2, 3, 1, 4), (3, 1, 5)], ids=str)
def test_another_batch(shape):
    """Copying would broadcast ones, silently."""
    with pytest.raises(ValueError, match=r"for \(batch, heads, width\) = \(2, 3, 5\) takes keys of shape .*, got \("):
        filled().layers[0].extend(torch.zeros(shape), torch.zeros(shape))
