"""Small histograms by address, all on one pair of axes."""

import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of
from torch import nn

import cutaway as cut
from cutaway.look import histograms


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def test_shares_by_hand():
    picture = histograms({"a.x": torch.tensor([0.0, 0.0, 0.0, 1.0]), "b.x": torch.tensor([0.0, 1.0])}, bins=2)
    found = {(r["series"], round(r["from"], 1)): r["share"] for r in rows_of(picture)}
    assert found == {
        ("a   σ 0.43", 0.0): 0.75,  # √(3/16)
        ("a   σ 0.43", 0.5): 0.25,
        ("b   σ 0.5", 0.0): 0.5,
        ("b   σ 0.5", 0.5): 0.5,
    }
    expect_drawn(picture, colours=4)


def test_parameters_by_pattern():
    model = network()
    picture = histograms(model, "*.weight")
    assert picture.title == "Distribution of the weights"
    assert len({r["series"] for r in rows_of(picture)}) == 2
    assert picture.alt.startswith("Histograms of 2 tensors, 20 numbers")
    assert len({r["series"] for r in rows_of(histograms(model, ["0.weight", "*.bias"]))}) == 3
    for series in {r["series"] for r in rows_of(picture)}:
        assert sum(r["share"] for r in rows_of(picture) if r["series"] == series) == pytest.approx(1, abs=1e-5)


def test_what_a_trace_has_seen():
    model = network()
    with cut.trace(model, "1") as seen:
        model(torch.randn(50, 3))
    picture = histograms(seen, log=True)
    assert {"value", "share (log axis)"} <= set(words_of(picture))
    assert picture.title == "Distribution of the values"
    expect_drawn(picture, colours=4)


def test_an_outlier_does_not_hide_the_rest():
    x = torch.randn(5000)
    x[0] = 1e6
    x[1] = torch.nan
    picture = histograms({"x": x})
    assert max(r["to"] for r in rows_of(picture)) < 5
    assert "beyond the axis are counted at its ends" in picture.note
    assert "1 that are not finite are left out" in picture.note
    assert sum(r["share"] for r in rows_of(picture)) == pytest.approx(1, abs=1e-4)
    assert "not finite" in histograms({"x": [float("nan")]}).note  # nothing but


def test_messages():
    with pytest.raises(ValueError, match=r"must name a parameter, got '0.wieght'; the nearest known are: 0.weight"):
        histograms(network(), "0.wieght")
    with pytest.raises(ValueError, match="must name a value that was seen, got 'b'"):
        histograms({"a": [1.0]}, "b")
    with pytest.raises(ValueError, match="at most 48 histograms, got 49; name some of them, as in 'x0'"):
        histograms({f"x{i}": [1.0] for i in range(49)})
    with pytest.raises(ValueError, match="bins must be above 0, got 0; try bins=40"):
        histograms({"a": [1.0]}, bins=0)
    with pytest.raises(ValueError, match="there must be a tensor to draw, got none"):
        histograms(nn.ReLU())


def test_the_axis_of_a_large_tensor_is_that_of_numbers_spread_over_it():
    x = torch.linspace(-1, 3, 1_000_003)
    picture = histograms({"x": x}, bins=4)
    rows = picture.spec()["datasets"]["rows"]
    assert rows[0]["from"] == pytest.approx(-1, abs=0.01)
    assert rows[-1]["to"] == pytest.approx(3, abs=0.01)
    assert [row["share"] for row in rows] == pytest.approx([0.25] * 4, abs=0.002)
