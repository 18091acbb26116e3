"""Gates over time: which units are shown, and what is refused."""

import numpy as np
import pytest

from cutaway.look.recurrence.gate_panels import gate_panels, layer_values


def test_the_units_that_change_most_are_shown():
    cell = np.zeros((5, 40))
    cell[:, [3, 7]] = np.arange(5)[:, None]
    picture = gate_panels({"forget_gate": np.full((5, 40), 0.5), "cell": cell}, list("abcde"), units=None)
    rows = picture.spec()["datasets"]["panel1"]
    assert len(rows) == 16
    assert {row["unit"] for row in rows} >= {3, 7}
    assert "16 of 40 units, those whose cell changes most" in picture.alt
    assert "forget gate 0.5, cell 0.1" in picture.alt
    assert picture.caption


def test_refusals():
    with pytest.raises(ValueError, match="there must be a token for every step, at most 200, got 2 for 5 steps"):
        gate_panels({"cell": np.zeros((5, 4))}, ["a", "b"])
    with pytest.raises(ValueError, match=r"gates must be of one shape \(tokens, units\)"):
        gate_panels({"hidden": np.zeros((5, 3)), "cell": np.zeros((5, 4))}, list("abcde"))


def test_values_of_one_cell():
    seen = {"layers.0.forwards.cell": np.zeros((2, 5, 4)), "layers.1.forwards.cell": np.ones((2, 5, 4))}
    (found,) = layer_values(seen, "layers.1.forwards", ["cell", "hidden"]).values()
    assert found.shape == (5, 4)
    assert found.all()


def test_gates_are_coloured_from_shut_to_open():
    """A gate that stays below a half must not look open; states keep a scale of their own."""
    values = {"forget_gate": np.full((3, 2), 0.4), "cell": np.array([[0.0, 3.0], [1.0, -5.0], [0.0, 0.0]])}
    gate, cell = gate_panels(values, list("abc")).spec()["vconcat"]
    assert gate["encoding"]["color"]["scale"]["domain"] == [0, 1]
    assert cell["encoding"]["color"]["scale"]["domain"] == [-5, 5]
