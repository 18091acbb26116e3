"""Arguments by their addresses: the first, by number, by name, by glob, however they were passed."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel

import cutaway as cut
from cutaway.inside.arguments import argument_names, find_slot, matching_arguments


class Scaled(nn.Module):
    """y = scale · x + shift, or without the shift."""

    def forward(self, x: Tensor, scale: Tensor, *, shift: Tensor | None = None) -> Tensor:
        y = scale * x
        return y if shift is None else y + shift


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scaled = Scaled()

    def forward(self, x: Tensor, by_name: bool = False) -> Tensor:
        scale, shift = torch.full((3,), 2.0), torch.full((3,), 5.0)
        if by_name:
            return self.scaled(shift=shift, scale=scale, x=x)
        return self.scaled(x, scale, shift=shift)


class Gathering(nn.Module):
    def forward(self, *parts: Tensor, **named: Tensor) -> Tensor:
        return sum(parts, start=torch.zeros(3)) + sum(named.values(), start=torch.zeros(3))


X = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("by_name", [False, True])
def test_every_argument_has_an_address(by_name: bool):
    model = Model()
    with cut.trace(
        model, "scaled.input", "scaled.input.0", "scaled.input.1", "scaled.input.2", "scaled.input.*"
    ) as seen:
        model(X, by_name)
    assert list(seen)[:4] == ["scaled.input", "scaled.input.0", "scaled.input.1", "scaled.input.2"]
    assert list(seen)[4:] == ["scaled.input.x", "scaled.input.scale", "scaled.input.shift"]
    assert seen["scaled.input"] is seen["scaled.input.0"] is seen["scaled.input.x"] is X
    assert seen["scaled.input.1"].tolist() == seen["scaled.input.scale"].tolist() == [2.0] * 3
    assert seen["scaled.input.2"].tolist() == seen["scaled.input.shift"].tolist() == [5.0] * 3


@pytest.mark.parametrize("by_name", [False, True])
def test_later_arguments_can_be_changed(by_name: bool):
    model = Model()
    with cut.patch(model, {"scaled.input.scale": 10.0, "scaled.input.shift": lambda shift: shift + 1}):
        assert model(X, by_name).tolist() == [16.0, 26.0, 36.0]
    assert model(X, by_name).tolist() == [7.0, 9.0, 11.0]


def test_a_trace_sees_what_a_patch_under_another_name_of_the_argument_made():
    model = Model()
    with cut.trace(model, "scaled.input.x", "scaled.input") as seen, cut.patch(model, {"scaled.input.0": 0.0}):
        model(X)
    assert seen["scaled.input.x"].tolist() == seen["scaled.input"].tolist() == [0.0] * 3


def test_gradients_of_later_arguments():
    model = Model()
    with cut.trace(model, "scaled.input.scale", gradients=True) as seen:
        model(X).sum().backward()
    assert torch.equal(seen.gradient["scaled.input.scale"], X)


def test_none_that_was_passed_is_a_value_and_can_be_replaced():
    model = nn.ModuleDict({"scaled": Scaled()})
    model.forward = lambda x: model["scaled"](x, torch.ones(3), shift=None)
    with cut.trace(model, "scaled.input.shift") as seen:
        model(X)
    assert seen["scaled.input.shift"] is None
    with cut.patch(model, {"scaled.input.shift": lambda shift: torch.ones(3)}):
        assert model(X).tolist() == [2.0, 3.0, 4.0]


def test_the_models_own_arguments():
    model = Model()
    with cut.trace(model, "input.by_name", "input.0", "input") as seen:
        model(X, by_name=True)
    assert seen["input.by_name"] is True
    assert seen["input.0"] is seen["input"] is X


def test_an_argument_that_was_not_passed_is_not_reached():
    model = Model()
    message = r"must be reached by a pass .* got none through 'input.by_name'; run"
    with pytest.raises(ValueError, match=message), cut.trace(model, "input.by_name"):
        model(X)


def test_unknown_arguments_list_the_known():
    message = r"must name an argument of the module, got 'scaled.input.shft'; the nearest known are: scaled.input.shift"
    with pytest.raises(ValueError, match=message):
        cut.trace(Model(), "scaled.input.shft")
    with pytest.raises(ValueError, match=r"got 'scaled.input.3'; the nearest known are: .*scaled.input.x"):
        cut.trace(Model(), "scaled.input.3")
    with pytest.raises(ValueError, match=r"must name a module or tap of the model, got 'lost.input.x'"):
        cut.trace(Model(), "lost.input.x")


def test_gathered_arguments_by_number_and_name():
    model = nn.ModuleDict({"sum": Gathering()})
    model.forward = lambda x: model["sum"](x, 2 * x, extra=3 * x)
    with cut.trace(model, "sum.input.1", "sum.input.extra") as seen:
        model(X)
    assert torch.equal(seen["sum.input.1"], 2 * X)
    assert torch.equal(seen["sum.input.extra"], 3 * X)


def test_names_come_from_inside_a_wrapper():
    assert argument_names(DataParallel(Scaled())) == ["x", "scale", "shift"]
    assert matching_arguments(Scaled(), "s*") == ["scale", "shift"]
    assert matching_arguments(Scaled(), "9") == []
    assert find_slot(DataParallel(Scaled()), "scale", (X, X), {}) == 1
    assert find_slot(Scaled(), "shift", (X, X), {}) is None
