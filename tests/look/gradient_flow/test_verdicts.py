"""What is said about a flow: the right sentence for what is wrong, and none for what is not."""

import math
from typing import Any

import pytest

from cutaway.look.gradient_flow.tallies import Layer, Times
from cutaway.look.gradient_flow.verdicts import changes, verdicts


def layer(address: str, **known: Any) -> Layer:
    told: dict[str, Any] = dict(
        kind="Linear",
        mean=0.0,
        std=1.0,
        activation=1.0,
        delta=1.0,
        gradient=1.0,
        weight=1.0,
        units=4,
        dead_units=None,
        saturated=None,
        saturated_units=None,
    )
    return Layer(address=address, **told | known)


def test_a_healthy_net_is_said_to_be_so():
    layers = [layer(str(i), delta=0.5 + i / 10) for i in range(4)]
    assert verdicts(layers, {}) == [
        "Nothing explodes or vanishes in δ (its norm stays between 0.5 and 0.8 over 4 layers), no unit is dead or "
        "saturated."
    ]


def test_a_thousandfold_is_worth_a_sentence():
    """δ falls by 10 a layer on the way back: over three steps to 1/1000."""
    layers = [layer(str(i), delta=10.0 ** (i - 3)) for i in range(4)]
    assert verdicts(layers, {}) == ["From 3 back to 0 δ shrinks by 10^3, 0.1× a layer: vanishing."]
    assert "Nothing explodes" in verdicts(layers[:3], {})[0]
    assert verdicts(list(reversed(layers)), {}) == ["From 0 back to 3 δ grows by 10^3, 10× a layer: exploding."]
    rising = [layer(str(i), activation=40.0**i) for i in range(4)]
    assert verdicts(rising, {}) == ["From 0 to 3 the activation grows by 6.4·10^4, 40× a layer: exploding."]


def test_only_layers_of_one_kind_and_place_are_compared():
    layers = [layer(f"blocks.{i}.{name}", delta=d) for i in range(3) for name, d in (("norm", 1e-6), ("out", 1.0))]
    assert changes(layers, "delta") == []
    by_kind = [layer("first", kind="Linear", delta=1e-6), layer("act", kind="ReLU"), layer("last", kind="Linear")]
    (change,) = changes(by_kind, "delta")
    assert (change.earlier.address, change.later.address, change.steps) == ("first", "last", 1)
    assert change.factor == pytest.approx(1e6)


def test_zeros_missing_and_broken_numbers():
    layers = [layer("0", delta=0.0), layer("1", delta=None), layer("2"), layer("3", delta=math.nan)]
    assert verdicts(layers, {}) == [
        "On the way back δ at 3 is the first that is not finite.",
        "δ is exactly 0 at 0: nothing is learned there.",
        "No gradient comes back to 1.",
    ]
    layers = [layer("0"), layer("1", activation=math.inf), layer("2", activation=math.nan)]
    assert verdicts(layers, {}) == ["The values of 1 are the first that are not finite."]


def test_units_are_named_up_to_eight():
    few = layer("2", kind="ReLU", units=64, dead_units=(0, 5))
    assert verdicts([few], {}) == ["2 of 64 units of 2 are dead: 0, 5."]
    many = layer("2", kind="ReLU", units=64, dead_units=tuple(range(0, 24, 2)))
    assert verdicts([many], {}) == ["12 of 64 units of 2 are dead: 0, 2, 4, 6, 8, 10, 12, 14 and 4 more."]
    stuck = layer("3", kind="Tanh", units=8, saturated=0.4, saturated_units=(7,))
    assert verdicts([stuck], {}) == ["1 of 8 units of 3 is saturated for every example: 7."]
    mostly = layer("3", kind="Tanh", units=8, saturated=0.75, saturated_units=())
    assert verdicts([mostly], {}) == ["75% of the values of 3 are saturated."]
    assert "Nothing explodes" in verdicts([layer("3", kind="Tanh", saturated=0.4, saturated_units=())], {})[0]


def test_many_layers_are_counted_after_eight():
    layers = [layer(str(i), kind="ReLU", units=9, dead_units=(i,)) for i in range(9)]
    said = verdicts(layers, {})
    assert len(said) == 9
    assert said[7:] == ["1 of 9 units of 7 is dead: 7.", "1 more layers have dead units."]


def test_frozen():
    layers = [layer("0", gradient=None), layer("1", gradient=None), layer("2", gradient=None, weight=None)]
    assert verdicts(layers, {}) == ["No weight of the 2 layers that own some has a gradient: they are frozen."]


def test_through_time():
    healthy = Times([1.0] * 3, [0.1, 1.0, 10.0])
    none = Times([1.0] * 3, None)
    last_alone = Times([1.0] * 3, [0.0, 0.0, 1.0])
    vanishing = Times([1.0] * 4, [0.0, 1e-6, 1e-3, 1.0])
    exploding = Times([1.0] * 2, [2e3, 1.0])
    called = Times([1.0] * 2, [1e-4, 1.0], by="call")
    times = {"f": called, "a": healthy, "b": none, "c": last_alone, "d": vanishing, "e": exploding}
    assert verdicts([layer("0")], times) == [
        "At f δ shrinks by 10^4 from call 1 back to 0: vanishing.",
        "At d δ shrinks by 10^6 from time step 3 back to 1: vanishing through time.",
        "At e δ grows by 2·10^3 from time step 1 back to 0: exploding through time.",
    ]
