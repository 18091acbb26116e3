"""What a trace keeps: values of every kind, as they were, where asked, and not for longer than asked."""

import gc
import weakref
from collections import namedtuple
from dataclasses import dataclass

import pytest
import torch
from looking import assert_nothing_left, chain
from torch import nn

import cutaway as cut
from cutaway.inside.results import Kept


def in_place() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))


@dataclass
class Report:
    mean: torch.Tensor
    note: str


Ends = namedtuple("Ends", ["low", "high"])


class Shaped(nn.Module):
    """Gives its argument in some structure."""

    def __init__(self, shape) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return self.shape(x)


@pytest.mark.parametrize(
    "shape",
    [
        lambda x: (x + 1, None, [2 * x]),
        lambda x: {"one": x + 1, "two": (2 * x, "text")},
        lambda x: Ends(x + 1, 2 * x),
        lambda x: Report(x + 1, "text"),
        lambda x: torch.max(x, dim=-1),
    ],
    ids=["tuple", "dict", "namedtuple", "dataclass", "structseq"],
)
def test_structured_values_keep_their_structure(shape):
    model = nn.Sequential(Shaped(shape))
    x = torch.randn(7, 3, requires_grad=True)
    kept = {}
    for clone in (False, True):
        with cut.trace(model, "0", clone=clone, detach=clone, gradients=True) as seen:
            y = model(x)
        kept[clone] = seen["0"]
    assert type(kept[True]) is type(y)
    plain, copied = torch.utils._pytree.tree_leaves(_open(y)), torch.utils._pytree.tree_leaves(_open(kept[True]))
    for a, b in zip(plain, copied, strict=True):
        if torch.is_tensor(a):
            assert torch.equal(a, b)
            assert a.data_ptr() != b.data_ptr()
            assert not b.requires_grad
        else:
            assert a == b
    first = plain[0]
    first.sum().backward()
    gradients = torch.utils._pytree.tree_leaves(_open(seen.gradient["0"]), is_leaf=lambda part: part is None)
    assert torch.equal(gradients[0], torch.ones_like(first))
    assert gradients[1] is None or not torch.is_tensor(gradients[1])


def _open(value):
    return vars(value) if isinstance(value, Report) else value


def test_the_kept_container_is_not_the_models_own():
    model = nn.Sequential(Shaped(lambda x: {"one": x}))
    with cut.trace(model, "0") as seen:
        model(torch.randn(3)).clear()
    assert list(seen["0"]) == ["one"]


def test_lstm_and_attention():
    model = nn.ModuleDict({"memory": nn.LSTM(3, 5, batch_first=True), "attention": nn.MultiheadAttention(5, 1)})
    model.forward = lambda x: model["attention"](*(3 * [model["memory"](x)[0]]))[0]
    x = torch.randn(2, 7, 3)
    with cut.trace(model, "memory", "attention", "memory.input") as seen:
        y = model(x)
    output, (hidden, cell) = seen["memory"]
    assert (output.shape, hidden.shape, cell.shape) == ((2, 7, 5), (1, 2, 5), (1, 2, 5))
    assert seen["attention"][0] is y
    assert seen["memory.input"] is x


def test_packed_sequences():
    lstm = nn.Sequential(nn.LSTM(3, 5))
    packed = nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])
    with cut.trace(lstm, "0", "0.input", clone=True) as seen:
        output, _ = lstm(packed)
    assert torch.equal(seen["0"][0].data, output.data)
    assert torch.equal(seen["0.input"].batch_sizes, torch.tensor([2, 2, 1, 1]))


class Named(nn.Module):
    def forward(self, x, scale):
        return x * scale


def test_input_is_the_first_argument_also_by_keyword():
    model = nn.ModuleDict({"named": Named()})
    model.forward = lambda x: model["named"](scale=torch.tensor(2.0), x=x)
    x = torch.randn(3)
    with cut.trace(model, "named.input") as seen:
        model(x)
    assert seen["named.input"] is x
    with cut.patch(model, {"named.input": 1.0}):
        assert torch.equal(model(x), torch.full((3,), 2.0))


class Constant(nn.Module):
    def forward(self):
        return torch.ones(3)


def test_a_module_called_without_arguments_has_no_input():
    model = nn.ModuleDict({"constant": Constant()})
    model.forward = lambda x: x + model["constant"]()
    with cut.trace(model, "constant") as seen:
        model(torch.zeros(3))
    assert torch.equal(seen["constant"], torch.ones(3))
    with pytest.raises(ValueError, match=r"got none through 'constant.input'"), cut.trace(model, "constant.input"):
        model(torch.zeros(3))


def test_a_value_changed_in_place_afterwards_raises_and_clone_keeps_it():
    model, x = in_place(), torch.randn(7, 3)
    with cut.trace(model, "0") as seen:
        model(x)
    assert "0" in seen
    message = (
        r"a value that was read must not change afterwards, got '0' changed in place \(version 0 is now 1, .*clone"
    )
    with pytest.raises(ValueError, match=message):
        seen["0"]
    with cut.trace(model, "0", clone=True) as seen:
        model(x)
    assert torch.equal(seen["0"], model[0](x))
    assert (seen["0"] < 0).any()


def test_a_change_in_place_is_noticed_through_detach_too():
    model = in_place()
    with cut.trace(model, "0", detach=True) as seen:
        model(torch.randn(7, 3))
    with pytest.raises(ValueError, match="got '0' changed in place"):
        seen["0"]


def test_detach_cuts_the_graph():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0") as plain, cut.trace(model, "0", detach=True) as cut_off:
        model(x)
    assert plain["0"].requires_grad
    assert not cut_off["0"].requires_grad


def test_device_moves_values():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", device="meta") as seen:
        y = model(x)
    assert seen["0"].is_meta
    assert seen["0"].shape == (7, 5)
    assert not y.is_meta


def test_inference_tensors_are_copied_because_they_have_no_version():
    model, x = in_place(), torch.randn(7, 3)
    with torch.inference_mode(), cut.trace(model, "0", "2") as seen:
        y = model(x)
    assert torch.equal(seen["0"], model[0](x))
    assert torch.equal(seen["2"], y)


def test_an_inference_tensor_may_enter_a_pass_with_gradients():
    model = chain()
    with torch.inference_mode():
        x = torch.ones(7, 3)
    with cut.trace(model, "input", gradients=True) as seen:
        model(x).sum().backward()
    slope = torch.autograd.functional.jacobian(lambda x: model(x).sum(), torch.ones(7, 3))
    assert torch.equal(seen.gradient["input"], slope)


def test_memory_limit():
    model, x = chain(), torch.randn(7, 3)  # 7·5 floats, twice, then 7·2: 140 + 140 + 56 bytes
    with cut.trace(model, "*", memory_limit=336) as seen:
        model(x)
    assert len(seen) == 3
    with (
        pytest.raises(MemoryError, match="a trace may keep memory_limit=335 bytes, got 336 at '2'; ask for fewer"),
        cut.trace(model, "*", memory_limit=335),
    ):
        model(x)
    with (
        pytest.raises(MemoryError, match="memory_limit=335 bytes, got 560 at '1'"),  # gradients take as much again
        cut.trace(model, "*", memory_limit=335, gradients=True),
    ):
        model(x)
    assert_nothing_left(model)


def test_nothing_is_held_once_what_was_seen_is_dropped():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "*", gradients=True) as seen:
        y = model(x)
    held = [weakref.ref(kept) for kept in _all_kept(seen)] + [weakref.ref(seen["1"])]
    del seen, y
    gc.collect()
    assert [ref() for ref in held] == [None] * 4


def _all_kept(seen) -> list[Kept]:
    return [kept for calls in seen._kept.values() for kept in calls]


def test_gradients_of_packed_sequences_are_packed_alike():
    lstm = nn.Sequential(nn.LSTM(3, 5))
    sequences = [torch.randn(2, 3), torch.randn(4, 3)]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    with cut.trace(lstm, "0", "0.input", gradients=True) as seen:
        output, _ = lstm(packed)
        output.data.sum().backward()
    gradient, (hidden, cell) = seen.gradient["0"]
    assert torch.equal(gradient.data, torch.ones(6, 5))
    assert (hidden, cell) == (None, None)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(seen.gradient["0.input"], batch_first=True)
    assert lengths.tolist() == [2, 4]
    free = sequences[0].clone().requires_grad_()
    lstm(free[:, None])[0].sum().backward()
    torch.testing.assert_close(padded[0, :2], free.grad)
    assert cut.addresses(lstm, packed)["0"] == ((6, 5), ((1, 2, 5), (1, 2, 5)))


def test_the_models_own_output_has_two_names():
    layer, x = nn.Linear(3, 2), torch.randn(5, 3)
    with cut.trace(layer, "", "output", "input", gradients=True) as seen:
        y = layer(x)
        y.square().sum().backward()
    assert seen[""] is seen["output"] is y
    assert torch.equal(seen.gradient["output"], 2 * y)
    with cut.patch(layer, {"output": 0.0}):
        assert not layer(x).any()
    model = nn.ModuleDict({"output": layer})
    model.forward = lambda x: 2 * model["output"](x)
    with cut.trace(model, "output") as seen:
        model(x)
    assert torch.equal(seen["output"], y)  # the sub-module of that name


class Silent(nn.Module):
    def forward(self, x):
        return None


def test_a_module_that_gives_none_can_be_patched():
    model = nn.ModuleDict({"silent": Silent()})
    model.forward = lambda x: model["silent"](x)
    seen_by_patch = []
    with cut.patch(model, {"silent": lambda y: seen_by_patch.append(y)}):
        assert model(torch.ones(3)) is None
    assert seen_by_patch == [None]
    with cut.patch(model, {"silent": lambda y: torch.zeros(3)}):
        assert model(torch.ones(3)).tolist() == [0.0] * 3
