"""The flow in the course of training: colours by layer and step, and the length of steps."""

from typing import Any

import pytest
from look.rendered import cells_of, expect_drawn, rows_of, words_of

from cutaway.look import flow_history, flow_pictures, update_picture


def looks(layers: int = 3, steps: int = 4) -> list[dict[str, Any]]:
    return [
        {
            "step": 10 * t,
            "layer": f"blocks.{i}.up",
            "delta": 10.0 ** (-i),
            "activation": 1.0 + t,
            "gradient": 2.0,
            "update": 1e-3 * (i + 1),
            "dead": None,
            "saturated": None,
        }
        for t in range(1, steps + 1)
        for i in range(layers)
    ]


def test_a_history_of_delta():
    picture = flow_history(looks())
    rows = rows_of(picture)
    assert [(row["layer"], row["step"], row["norm"]) for row in rows[:4]] == [
        (0, 10, 1.0),
        (1, 10, 0.1),
        (2, 10, 0.01),
        (0, 20, 1.0),
    ]
    assert len(set(cells_of(picture).values())) == 3  # a colour a layer: δ does not change over the steps
    assert picture.alt == "Heat map of the norm of δ of 3 layers at 4 steps from 10 to 40: from 0.01 to 1."
    assert picture.note == "Each column is one look at one batch."
    assert {"step", "layer, from input to output", "norm of δ"} <= set(words_of(picture))
    expect_drawn(picture)
    assert flow_history(looks(), "activation").title == "Gradient flow: norm of the activation by layer and step"


def test_layers_keep_the_order_of_the_pass_and_blanks_are_said():
    rows = looks()
    rows[0]["delta"], rows[1]["delta"] = 0.0, None  # the first look at the first two layers
    picture = flow_history(rows)
    assert {row["address"]: row["layer"] for row in rows_of(picture)} == {f"blocks.{i}.up": i for i in range(3)}
    assert "Blank: it is 0, or none." in picture.note


def test_many_layers_and_looks_are_thinned_and_said():
    picture = flow_history(looks(layers=100, steps=200))
    rows = rows_of(picture)
    steps = {row["step"] for row in rows}
    assert {10, 2000} <= steps
    assert len(steps) == len({row["layer"] for row in rows}) == 64
    assert "64 of 100 layers are shown. 64 of 200 looks are shown." in picture.note
    expect_drawn(picture)


def test_dead_and_saturated_shares_of_the_newest_look():
    rows = looks()
    rows[0]["dead"], rows[-1]["dead"], rows[-2]["dead"], rows[-3]["saturated"] = 0.9, 0.25, 0.1, 0.5
    assert flow_history(rows).note.endswith(
        "At step 40 up to 25% of a layer's units are dead (blocks.2.up). "
        "At step 40 up to 50% of a layer's values are saturated (blocks.0.up)."
    )


def test_update_ratios_with_their_guide():
    picture = update_picture(looks(layers=5))
    rows = rows_of(picture)
    assert {row["layer"] for row in rows if row["marked"]} == {f"blocks.{i}.up" for i in (0, 2, 4)}
    assert [row["update"] for row in rows[:5]] == pytest.approx([0.001, 0.002, 0.003, 0.004, 0.005])
    assert "guide, 1e-3" in words_of(picture)
    assert picture.note == "Coloured: the layers with the largest, the middle and the smallest ratio. Grey: 2 others."
    assert "largest blocks.4.up (0.005), middle blocks.2.up (0.003), smallest blocks.0.up (0.001)" in picture.alt
    expect_drawn(picture)
    expect_drawn(update_picture(looks(layers=1)))
    assert update_picture(looks(layers=1)).note == ""


def test_what_a_report_shows():
    rows = looks()
    assert [picture.title for picture in flow_pictures(rows)] == [
        "Gradient flow: norm of δ by layer and step",
        "Gradient flow: length of a step, as a share of the weights",
    ]
    assert flow_pictures([]) == []
    assert len(flow_pictures([row | {"update": 0.0} for row in rows])) == 1
    assert flow_pictures([row | {"update": None, "delta": None} for row in rows]) == []


def test_nothing_to_draw():
    rows = [row | {"delta": 0.0, "update": None} for row in looks()]
    with pytest.raises(ValueError, match="a history needs looks with a finite delta above 0, got 12 rows without"):
        flow_history(rows)
    with pytest.raises(ValueError, match="update ratios need looks with an update above 0, got 12 rows without"):
        update_picture(rows)
    with pytest.raises(ValueError, match="a history is of activation, delta, gradient, got 'loss'; pick one of these"):
        flow_history(rows, "loss")
