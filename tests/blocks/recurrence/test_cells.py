"""What taps of a cell show: one tensor (batch, steps, width) for each value, 0 where padded."""

import itertools

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import cutaway as cut
from cutaway.blocks import GRU, LSTM, RNN


@pytest.mark.parametrize("layer", [RNN(3, 5, 2, True), LSTM(3, 5, 2, True), GRU(3, 5, 2, True)])
def test_a_trace_gives_one_tensor_for_each_value(layer):
    x, lengths = torch.randn(4, 7, 3), torch.tensor([3, 7, 1, 6])
    plain, _ = layer(x, lengths=lengths)
    names = layer.layers[0]["forwards"].names
    with cut.trace(layer, [f"layers.*.*.{name}" for name in names]) as seen:
        read, _ = layer(x, lengths=lengths)
    assert torch.equal(plain, read)
    assert len(seen) == 4 * len(names)
    padded = torch.arange(7) >= lengths[:, None]
    for value in seen.values():
        assert value.shape == (4, 7, 5)
        assert (value[padded] == 0).all()
        assert (value[~padded] != 0).any()
    both = torch.cat([seen["layers.1.forwards.hidden"], seen["layers.1.backwards.hidden"]], -1)
    torch.testing.assert_close(both, plain)


FAMILIES = [
    (RNN, {}),
    (RNN, {"activation": "relu"}),
    (LSTM, {}),
    (LSTM, {"peephole": True}),
    (LSTM, {"coupled": True}),
    (GRU, {}),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("family", "options"), FAMILIES)
def test_reading_any_address_leaves_every_bit_of_the_output(family, options, dtype):
    """Every value, and the two maps, which only the written-out equation calls."""
    lengths = torch.tensor([3, 7, 1, 6])
    for both, padded, grads in itertools.product((False, True), repeat=3):
        layer = family(3, 5, 2, both, **options).to(dtype)
        x, given = torch.randn(4, 7, 3, dtype=dtype), lengths if padded else None
        with torch.set_grad_enabled(grads):
            plain, end = layer(x, lengths=given)
            for at in ("**", "**.input", "layers.0.forwards.map_input", "layers.1.forwards.map_hidden.input"):
                with cut.trace(layer, at) as seen:
                    read, read_end = layer(x, lengths=given)
                assert all(torch.equal(a, b) for a, b in zip((plain, *end), (read, *read_end), strict=True)), at
            assert len(seen.calls["layers.1.forwards.map_hidden.input"]) == 7  # a step each


@pytest.mark.parametrize(("family", "options"), FAMILIES)
def test_reading_one_step_leaves_every_bit_of_it(family, options):
    layer, x = family(3, 5, 2, **options).double(), torch.randn(4, 3, dtype=torch.float64)
    plain, state = layer.step(x)
    with cut.trace(layer, "**") as seen:
        read, read_state = layer.step(x)
    assert all(torch.equal(a, b) for a, b in zip((plain, *state), (read, *read_state), strict=True))
    assert seen["layers.0.forwards.map_input"].shape == (1, 4, layer.layers[0]["forwards"].gates * 5)


def test_the_input_map_is_heard_once_a_pass():
    for family in (RNN, LSTM, GRU):
        layer = family(3, 5)
        with cut.trace(layer, "**.map_input") as seen:
            layer(torch.randn(4, 7, 3))
        assert len(seen.calls["layers.0.forwards.map_input"]) == 1


def test_a_hook_of_the_users_own_may_change_a_map():
    """It is taken as an edit: the written-out equation hears it."""
    layer, x = GRU(3, 5), torch.randn(4, 7, 3)
    plain, _ = layer(x)
    handle = layer.layers[0]["forwards"].map_hidden.register_forward_hook(lambda module, args, y: 0 * y)
    changed, _ = layer(x)
    handle.remove()
    assert not torch.allclose(plain, changed)


def test_a_read_map_is_computed_again_in_a_checkpoint():
    layer, x = LSTM(3, 5), torch.randn(4, 7, 3, requires_grad=True)
    layer(x)[0].sum().backward()
    expected, x.grad = x.grad, None
    with cut.trace(layer, "**.map_hidden"):
        y, _ = checkpoint(layer, x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, expected)
