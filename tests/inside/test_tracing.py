"""Traces: what is seen, where a pass stops, and that looking changes nothing."""

import copy
import re

import pytest
import torch
from looking import Layers, assert_nothing_left, chain
from torch import nn

import cutaway as cut


def test_values_are_those_of_the_pass():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "*", "1.input", "input") as seen:
        y = model(x)
    assert list(seen) == ["0", "1", "2", "1.input", "input"]
    assert torch.equal(seen["0"], nn.functional.linear(x, model[0].weight, model[0].bias))
    assert seen["1.input"] is seen["0"]
    assert torch.equal(seen["1"], torch.tanh(seen["0"]))
    assert seen["2"] is y
    assert seen["input"] is x
    assert_nothing_left(model)


def test_reading_never_changes_the_output_by_a_bit():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)
    with cut.trace(model, "**", "*.input"):
        assert torch.equal(model(x), plain)
    with cut.trace(model, "**", "*.input", clone=True, detach=True, gradients=True):
        assert torch.equal(model(x), plain)


def test_addresses_come_as_patterns_and_lists():
    model = chain()
    with cut.trace(model, ["0", "1.input"], "2", ("0",)) as seen:
        model(torch.randn(7, 3))
    assert list(seen) == ["0", "1.input", "2"]


def test_one_call_is_a_value_and_more_are_a_list():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0") as seen:
        model(x)
        assert torch.is_tensor(seen["0"])
        assert len(seen.calls["0"]) == 1
        model(2 * x)
    assert len(seen["0"]) == 2
    assert torch.equal(seen.calls["0"][1], model[0](2 * x))
    assert repr(seen) == "0  (7, 5)  × 2 calls"


def test_seen_is_a_mapping_of_what_was_reached():
    model = nn.ModuleDict({"used": nn.Linear(3, 2), "idle": nn.Linear(3, 2)})
    model.forward = lambda x: model["used"](x)
    trace = cut.trace(model, "*")
    with trace as seen:
        assert repr(seen) == "nothing seen yet"
        model(torch.randn(7, 3))
    assert (list(seen), len(seen), "used" in seen, "idle" in seen, "other" in seen) == (["used"], 1, True, False, False)
    assert (list(seen.calls), len(seen.calls), "idle" in seen.calls) == (["used"], 1, False)
    assert seen.get("idle") is None
    with pytest.raises(
        KeyError, match=r"^a value is there once a pass has reached it, got none yet at 'idle'; run the"
    ):
        seen["idle"]
    with pytest.raises(KeyError, match=r"^an address must be one that the trace asked for, got 'usedd'; .*: used"):
        seen.calls["usedd"]


def test_an_address_that_no_pass_reached_is_an_error_on_exit():
    model = chain()
    message = (
        "every address asked for must be reached by a pass inside the `with` block, got none through '1'; run the model"
    )
    with pytest.raises(ValueError, match=message), cut.trace(model, "0", "1"):
        model[0](torch.randn(7, 3))
    assert_nothing_left(model)


def test_no_address_and_no_model_are_errors():
    with pytest.raises(ValueError, match=r"a trace needs an address, got none; '\*\*' asks for all"):
        cut.trace(chain())
    with pytest.raises(ValueError, match="a trace needs an address, got none"):
        cut.trace(chain(), [])


@pytest.mark.untyped
def test_a_model_must_be_a_module():
    with pytest.raises(ValueError, match=r"a model must be a torch.nn.Module, got function; pass the module itself"):
        cut.trace(lambda x: x, "0")


def test_a_session_is_entered_once():
    model, x = chain(), torch.randn(7, 3)
    trace, patch = cut.trace(model, "0"), cut.patch(model, {"0": 0.0})
    with trace, patch:
        model(x)
    with pytest.raises(ValueError, match="a trace can be entered once, got a second time; make a new one"), trace:
        pass
    with pytest.raises(ValueError, match="a patch can be entered once, got a second time; make a new one"), patch:
        pass
    assert_nothing_left(model)


class Broken(nn.Module):
    def forward(self, x):
        raise ZeroDivisionError("broken")


def test_an_exception_in_the_model_leaves_nothing_behind():
    model = nn.Sequential(nn.Linear(3, 5), Broken())
    with (
        pytest.raises(ZeroDivisionError, match="broken"),
        cut.trace(model, "*", gradients=True),
        cut.patch(model, {"0": 0.0, "1.input": 1.0}),
    ):
        model(torch.randn(7, 3))
    assert_nothing_left(model)


def test_traces_may_end_in_crossed_order():
    model, x = chain(), torch.randn(7, 3)
    first, second = cut.trace(model, "0", "1"), cut.trace(model, "1", "2")
    a = first.__enter__()
    b = second.__enter__()
    model(x)
    first.__exit__(None, None, None)
    model(2 * x)
    second.__exit__(None, None, None)
    assert [len(a.calls[name]) for name in ("0", "1")] == [1, 1]
    assert [len(b.calls[name]) for name in ("1", "2")] == [2, 2]
    assert_nothing_left(model)


class Translator(nn.Module):
    """Source and target words go through one embedding, known by two names."""

    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(11, 3)
        self.target = self.source

    def forward(self, source, target):
        return self.source(source).sum(-2) + self.target(target).sum(-2)


def test_a_shared_embedding_is_known_by_each_name_and_keeps_every_call():
    model, source, target = Translator(), torch.tensor([1, 2]), torch.tensor([3, 4, 5])
    with cut.trace(model, "source", "target", "source.input", gradients=True) as seen:
        model(source, target).sum().backward()
    assert [h.shape for h in seen["source"]] == [(2, 3), (3, 3)]
    assert all(a is b for a, b in zip(seen["source"], seen["target"], strict=True))
    assert [tokens.tolist() for tokens in seen["source.input"]] == [[1, 2], [3, 4, 5]]
    assert [g.shape for g in seen.gradient["target"]] == [(2, 3), (3, 3)]
    with cut.trace(model, "target") as alone:
        model(source, target)
    assert len(alone.calls["target"]) == 2


# --- stop


class Catching(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        try:
            return self.inner(x)
        except Exception:  # as models do that try a kernel and fall back
            return x


@pytest.mark.parametrize("wrap", [nn.Sequential, Catching])
def test_stop_ends_the_pass(wrap):
    model = wrap(nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4), Broken()))
    after = []
    stem = "0" if wrap is nn.Sequential else "inner"
    with cut.trace(model, f"{stem}.0", f"{stem}.1.input", f"{stem}.1", stop=True) as seen:
        model(torch.randn(7, 3))
        after.append("not reached")
    assert not after
    assert seen[f"{stem}.1"].shape == (7, 4)
    assert_nothing_left(model)


def test_stop_waits_for_every_trace_that_stops():
    model, x = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4), Broken()), torch.randn(7, 3)
    with cut.trace(model, "0", stop=True) as first, cut.trace(model, "1", stop=True) as second:
        model(x)
    assert (len(first), len(second)) == (1, 1)
    with cut.trace(model, "1", stop=True) as first, cut.trace(model, "0", stop=True) as second:
        model(x)
    assert (len(first), len(second)) == (1, 1)


def test_a_stop_ends_the_block_of_its_own_trace():
    model, x = chain(), torch.randn(7, 3)
    after = []
    with cut.trace(model, "0", stop=True):
        with cut.trace(model, "0", "2"), cut.patch(model, {"0": 0.0}):
            model(x)
        after.append("not reached")
    assert not after


def test_a_stop_beneath_another_trace_is_told():
    model = chain()
    with (
        pytest.raises(ValueError, match="got none through '2'"),
        cut.trace(model, "2"),
        cut.trace(model, "0", stop=True),
    ):
        model(torch.randn(7, 3))


def test_stop_inside_a_checkpoint_leaves_its_hooks_off():
    model = Layers()
    model.forward = lambda x: torch.utils.checkpoint.checkpoint(model.compute, x, use_reentrant=False)
    with cut.trace(model, "b", stop=True) as seen:
        model(torch.randn(2, 3))
    assert "b" in seen
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


# --- copies and torch.func


def test_a_copy_made_inside_a_trace_is_a_model_of_its_own():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", "0.input") as seen:
        model(x)
        twin = copy.deepcopy(model)
        twin(x)
    assert len(seen.calls["0"]) == 1
    with cut.trace(twin, "0", "0.input") as own:
        twin(x)
    assert (len(own.calls["0"]), len(own.calls["0.input"])) == (1, 1)
    assert_nothing_left(twin)


def test_functional_call_is_traced():
    model, x = chain(), torch.randn(7, 3)
    zeros = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    with cut.trace(model, "0") as seen:
        torch.func.functional_call(model, zeros, x)
    assert torch.equal(seen["0"], torch.zeros(7, 5))


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.jacrev, torch.func.jacfwd])
def test_a_read_inside_torch_func_is_refused_and_an_edit_works(transform):
    model, x = chain(), torch.randn(7, 3)
    message = "a trace reads plain tensors, got one inside a torch.func transform .* at '0'; trace a call outside of it"
    with pytest.raises(ValueError, match=message), cut.trace(model, "0"):
        transform(model)(x)
    assert_nothing_left(model)
    with cut.patch(model, {"0": lambda value: 2 * value}):
        edited = transform(model)(x)
    double = lambda x: model[2](model[1](2 * model[0](x)))
    torch.testing.assert_close(edited, transform(double)(x))


@pytest.mark.untyped
def test_what_is_no_model_or_no_address():
    model = chain()
    for given in (3, None, ["0", 3], b"0"):
        wrong = given[1] if isinstance(given, list) else given
        message = re.escape(f"an address must be a text, got {wrong!r}; cut.addresses(model) lists those of a model")
        with pytest.raises(ValueError, match=message):
            cut.trace(model, given)
    for call in (cut.addresses, lambda thing: cut.addresses(thing, 1), lambda thing: cut.trace(thing, "0")):
        with pytest.raises(ValueError, match=r"a model must be a torch\.nn\.Module, got NoneType; pass the module"):
            call(None)
    assert_nothing_left(model)
