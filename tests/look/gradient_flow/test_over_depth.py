"""Pictures of a flow: what is drawn is what was measured."""

import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of
from torch import Tensor, nn

import cutaway as cut
from cutaway.look import flow_picture, flow_time_picture


def deep(depth: int = 40) -> cut.look.Flow:
    model = nn.Sequential(*[part for _ in range(depth) for part in (nn.Linear(4, 4), nn.Sigmoid())])
    with cut.flow(model) as flow:
        model(torch.randn(3, 4)).sum().backward()
    return flow


def test_over_depth():
    flow = deep()
    picture = flow_picture(flow)
    rows = rows_of(picture)
    layers = {row.address: row for row in flow.layers}
    assert len(rows) == 2 * len(layers)
    for row in rows:
        assert row["norm"] == pytest.approx(getattr(layers[row["layer"]], row["panel"]), rel=1e-5)
    assert [row["layer"] for row in rows if row["panel"] == "delta"] == list(layers)
    assert {"norm of the activation", "norm of δ", "layer, in the order of the pass", "Linear"} <= set(
        words_of(picture)
    )
    assert flow.verdict[0] in picture.note
    assert picture.alt.startswith("Norms at 80 layers. Activation from ")
    assert "vanishing" in picture.alt
    expect_drawn(picture)
    assert flow.picture().alt == picture.alt


def test_few_layers_are_named_on_the_axis():
    flow = deep(3)
    assert {"0", "5"} <= set(words_of(flow_picture(flow)))
    model = cut.models.GPT(vocabulary=7, width=4, depth=1, heads=1, context=4)
    with cut.flow(model) as flow:
        model(torch.tensor([[1, 2, 3]])).square().sum().backward()
    picture = flow_picture(flow)
    assert "blocks.0.norm_attention" in words_of(picture)
    expect_drawn(picture)


def test_more_kinds_than_colours():
    kinds = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.Softplus)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), *[kind() for kind in kinds])
    with cut.flow(model) as flow:
        model(torch.randn(3, 4)).sum().backward()
    drawn = {row["kind"] for row in rows_of(flow_picture(flow))}
    assert len(drawn) == 6
    assert {"Linear", "other"} <= drawn


def test_what_has_no_log_is_left_out_and_named():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    model[2].weight.data.zero_()
    with cut.flow(model) as flow:
        model(torch.randn(3, 3)).sum().backward()
    picture = flow_picture(flow)
    assert [row["layer"] for row in rows_of(picture) if row["panel"] == "delta"] == ["2"]
    assert "Without δ, or with one that is 0 or not finite, and so not drawn: 0, 1." in picture.note
    expect_drawn(picture, colours=5)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells, self.head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cells(x)[0][:, -1])


def test_over_time():
    model = Recurrent()
    with cut.flow(model) as flow:
        model(torch.randn(4, 9, 3)).sum().backward()
    picture = flow_time_picture(flow)
    rows = rows_of(picture)
    deltas = [row["norm"] for row in rows if row["panel"] == "delta" and row["layer"] == "cells.input"]
    assert deltas == pytest.approx(flow.times("cells.input").delta, rel=1e-5)
    assert len([row for row in rows if row["panel"] == "delta" and row["layer"] == "cells"]) == 1  # the others are 0
    assert picture.note == "Steps at which δ is exactly 0 are not drawn: the result does not depend on them."
    assert {"time step", "cells.input", "norm of δ"} <= set(words_of(picture))
    expect_drawn(picture)
    alone = flow.time_picture("cells.input")
    assert {row["layer"] for row in rows_of(alone)} == {"cells.input"}
    assert alone.note == ""


def test_layers_without_time_steps():
    flow = deep(2)
    with pytest.raises(
        ValueError, match=r"one picture through time shows 1 to 6 layers, got 0; name some of flow\.timed"
    ):
        flow_time_picture(flow)
