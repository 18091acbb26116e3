"""Patches: by number, tensor and function; in order; undone; differentiable; and what they say to mistakes."""

import pytest
import torch
from looking import Layers, assert_nothing_left, chain
from torch import nn

import cutaway as cut


@pytest.fixture
def model():
    return chain()


@pytest.fixture
def x():
    return torch.randn(7, 3)


@pytest.mark.parametrize(
    "edit",
    [
        2,
        2.0,
        torch.tensor(2),
        torch.full((5,), 2.0),
        torch.full((7, 1), 2.0),
        torch.full((7, 5), 2.0, dtype=torch.double),
    ],
)
def test_numbers_and_tensors_broadcast_to_the_value(model, x, edit):
    plain = model(x)
    with cut.patch(model, {"1": edit}):
        edited = model(x)
    assert torch.equal(edited, model[2](torch.full((7, 5), 2.0)))
    assert torch.equal(model(x), plain)
    assert_nothing_left(model)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_patches_need_no_graph(model, x, mode):
    with mode(), cut.patch(model, {"0": 1.0, "2": lambda y: 2 * y}), cut.trace(model, "0") as seen:
        edited = model(x)
    assert torch.equal(edited, 2 * model[2](torch.tanh(torch.ones(7, 5))))
    assert torch.equal(seen["0"], torch.ones(7, 5))


def test_inputs_are_patched_too(model, x):
    with cut.patch(model, {"input": lambda x: 2 * x, "2.input": lambda h: h + 1}):
        edited = model(x)
    assert torch.equal(edited, model[2](model[1](model[0](2 * x)) + 1))


def test_other_arguments_stay():
    attention = nn.ModuleList([nn.MultiheadAttention(4, 2, batch_first=True)])
    attention.forward = lambda q, k: attention[0](q, k, value=k, need_weights=False)[0]
    q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    with cut.patch(attention, {"0.input": lambda q: 2 * q}):
        edited = attention(q, k)
    assert torch.equal(edited, attention(2 * q, k))


def test_functions_get_the_whole_value_and_may_change_its_shape(model, x):
    with cut.patch(model, {"1": lambda value: value[:2]}):
        assert torch.equal(model(x), model(x[:2]))
    lstm = nn.Sequential(nn.LSTM(3, 5))
    with cut.patch(lstm, {"0": lambda value: (value[0], None)}):
        assert lstm(x)[1] is None


def test_a_pattern_patches_every_site_it_names(model, x):
    with cut.patch(model, {"*": 0.0}):
        assert torch.equal(model(x), torch.zeros(7, 2))


def test_a_shared_module_is_patched_once_a_call():
    tied = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    tied.append(tied[0])
    x = torch.randn(7, 3)
    with cut.patch(tied, {"*": lambda value: value + 1}):
        edited = tied(x)
    assert torch.equal(edited, tied[0](torch.tanh(tied[0](x) + 1) + 1) + 1)


def test_nested_patches_act_in_the_order_of_opening(model, x):
    plus, times = {"0": lambda value: value + 1}, {"0": lambda value: 3 * value}
    h = model[0](x)
    with cut.patch(model, plus), cut.patch(model, times), cut.trace(model, "0") as seen:
        model(x)
    assert torch.equal(seen["0"], 3 * (h + 1))
    with cut.patch(model, times), cut.patch(model, plus), cut.trace(model, "0") as seen:
        model(x)
    assert torch.equal(seen["0"], 3 * h + 1)


def test_edits_of_one_patch_act_in_their_order(model, x):
    with cut.patch(model, {"0": lambda value: value + 1, "*": lambda value: 3 * value}), cut.trace(model, "0") as seen:
        model(x)
    assert torch.equal(seen["0"], 3 * (model[0](x) + 1))


def test_a_trace_sees_what_flowed_on_whatever_the_nesting(model, x):
    with (
        cut.trace(model, "0") as outer,
        cut.patch(model, {"0": 1.0}),
        cut.trace(model, "0", "1.input") as middle,
        cut.patch(model, {"0": lambda value: value + 1}),
        cut.trace(model, "0", gradients=True) as inner,
    ):
        model(x)
    for seen in (outer, middle, inner):
        assert torch.equal(seen["0"], torch.full((7, 5), 2.0))
    assert torch.equal(middle["1.input"], torch.full((7, 5), 2.0))


def test_patches_closed_in_crossed_order(model, x):
    expected = model[2](model[1](model[0](x) + 1))
    first, second = cut.patch(model, {"0": 1.0}), cut.patch(model, {"0": lambda value: value + 1})
    first.__enter__()
    second.__enter__()
    model(x)
    first.__exit__(None, None, None)
    assert torch.equal(model(x), expected)
    second.__exit__(None, None, None)
    assert_nothing_left(model)


def test_a_patch_is_undone_after_an_exception(model, x):
    plain = model(x)
    with pytest.raises(ZeroDivisionError), cut.patch(model, {"0": lambda value: 1 // 0}):
        model(x)
    assert torch.equal(model(x), plain)
    assert_nothing_left(model)


def test_a_patch_that_no_pass_reached_is_an_error(model):
    with pytest.raises(ValueError, match="got none through '0'; run the model inside"), cut.patch(model, {"0": 0.0}):
        pass


def test_gradients_go_through_a_function(model, x, float64):
    model, x = model.double(), x.double().requires_grad_()
    with cut.patch(model, {"0": lambda value: value**2}):
        (edited,) = torch.autograd.grad(model(x).sum(), x)
    (by_hand,) = torch.autograd.grad(model[2](torch.tanh(model[0](x) ** 2)).sum(), x)
    assert torch.equal(edited, by_hand)


def test_gradients_reach_a_tensor_and_stop_there(model, x):
    direction = torch.randn(5, requires_grad=True)
    x = x.requires_grad_()
    with cut.patch(model, {"1": direction}):
        model(x).sum().backward()
    torch.testing.assert_close(direction.grad, 7 * model[2].weight.sum(0))
    assert x.grad is None


def test_the_patch_is_not_changed_by_the_model():
    in_place = nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True))
    edit = torch.full((7, 5), -1.0)
    with cut.patch(in_place, {"0": edit}):
        assert torch.equal(in_place(torch.randn(7, 3)), torch.zeros(7, 5))
    assert torch.equal(edit, torch.full((7, 5), -1.0))


def test_integers_are_patched_by_integers():
    model = nn.Sequential(nn.Embedding(11, 3), nn.Identity())
    tokens = torch.tensor([1, 2, 3])
    with cut.patch(model, {"0.input": torch.tensor(5)}):
        assert torch.equal(model(tokens), model[0].weight[[5, 5, 5]])
    message = "a patch must fit the value's type, got torch.float32 for torch.int64 at '0.input'; convert it first"
    with pytest.raises(ValueError, match=message), cut.patch(model, {"0.input": 0.5}):
        model(tokens)


def test_mistakes(model, x):
    with pytest.raises(ValueError, match=r"a patch needs an edit, got none; pass \{address: function or tensor\}"):
        cut.patch(model, {})
    with pytest.raises(ValueError, match="an address must name a module or tap of the model, got '7'"):
        cut.patch(model, {"7": 0.0})
    message = r"must broadcast to the value's shape, got \(3,\) for \(7, 5\) at '0'; give it that shape, or ones in the"
    with pytest.raises(ValueError, match=message), cut.patch(model, {"0": torch.zeros(3)}):
        model(x)
    message = "a patch function must return the new value, got None at '0'; add a `return`"
    with pytest.raises(ValueError, match=message), cut.patch(model, {"0": lambda value: None}):
        model(x)
    lstm = nn.Sequential(nn.LSTM(3, 5))
    message = "a tensor or number can only replace a tensor, got tuple at '0'; patch it with a function that returns"
    with pytest.raises(ValueError, match=message), cut.patch(lstm, {"0": 0.0}):
        lstm(x)
    assert_nothing_left(model)


@pytest.mark.untyped
def test_an_edit_of_another_kind(model):
    message = "an edit must be a function, a tensor or a number, got list at '0'; for an array use torch.as_tensor"
    with pytest.raises(ValueError, match=message):
        cut.patch(model, {"0": [0.0]})


@pytest.mark.untyped
def test_edits_without_addresses(model):
    for edits in ([0.0], None, "0", {"0"}):
        message = f"a patch takes a dict of addresses and edits, got {type(edits).__name__}; pass {{address: function"
        with pytest.raises(ValueError, match=message):
            cut.patch(model, edits)
    with pytest.raises(ValueError, match="an address must be a text, got 0; "):
        cut.patch(model, {0: 0.0})


def test_a_patched_model_equals_the_edit_written_by_hand():
    model, x = Layers(), torch.randn(5, 3)
    with cut.patch(model, {"b": lambda value: -value}):
        edited = model(x)
    assert torch.equal(edited, model.c(torch.tanh(-model.b(torch.tanh(model.a(x))))))
