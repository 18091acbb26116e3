"""The network for tables: against its equation written out, as a linear model, and its spec."""

import json

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import TableNet, TableNetSpec

SPEC = TableNetSpec("multi-class", 3, numbers=2, cardinalities=(5, 4), pieces=(3, 0), width=7, embedding=6)
NUMBERS = torch.randn(11, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
IDS = torch.stack([torch.arange(11) % 5, torch.arange(11) % 4], -1)


def build(spec: TableNetSpec = SPEC) -> TableNet:
    torch.manual_seed(0)
    model = TableNet(spec).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


def test_as_written_out():
    model = build()
    pieces = model.pieces(NUMBERS)
    E1, E2 = (table.weight for table in model.embeddings)
    x = torch.cat([NUMBERS, pieces, E1[IDS[:, 0]], E2[IDS[:, 1]]], 1)
    for layer in model.layers:
        x = torch.relu(x @ layer.linear.weight + layer.linear.bias)
    s = x @ model.head.linear.weight + model.head.linear.bias
    torch.testing.assert_close(model(NUMBERS, IDS), s)


def test_residual_and_norm_as_written_out():
    model = build(SPEC.but(depth=3, residual=True, norm="layer", activation="tanh"))
    x = model.encode(NUMBERS, IDS)
    x = torch.tanh(model.layers[0].linear(x))  # the first layer changes the width: nothing to add to
    for i in (1, 2):
        normed = nn.functional.layer_norm(x, (7,), model.norms[i - 1].weight, model.norms[i - 1].bias)
        x = x + torch.tanh(model.layers[i].linear(normed))
    torch.testing.assert_close(model(NUMBERS, IDS), model.head(x))


def test_without_hidden_layers_it_is_a_linear_map_of_one_hot_rows():
    model = build(SPEC.but(depth=0, embedding=0, pieces=()))
    # id 0, never seen in training, has no entry
    onehot = [nn.functional.one_hot(IDS[:, j], n)[:, 1:].double() for j, n in enumerate((5, 4))]
    x = torch.cat([NUMBERS, *onehot], 1)
    torch.testing.assert_close(model(NUMBERS, IDS), x @ model.head.linear.weight + model.head.linear.bias)


def test_a_linear_model_starts_at_zero():
    assert torch.equal(TableNet(SPEC.but(depth=0))(NUMBERS.float(), IDS), torch.zeros(11, 3))


def test_what_training_never_saw_starts_as_nothing():
    for table in TableNet(SPEC).embeddings:
        assert torch.equal(table.weight[:2], torch.zeros(2, 6))
        assert (table.weight[2:] != 0).all()


def test_hidden_categories():
    """With hide=1 every category is taken for never seen while training, and none in evaluation."""
    model = build(SPEC.but(hide=1.0))
    unseen = model.eval()(NUMBERS, torch.zeros_like(IDS))
    assert torch.equal(model.train()(NUMBERS, IDS), unseen)
    assert not torch.equal(model.eval()(NUMBERS, IDS), unseen)


def test_hidden_share():
    model = build(SPEC.but(hide=0.25))
    with cut.trace(model, "embeddings.0.output") as seen:
        model.train()(NUMBERS[:1].expand(4000, 2), torch.full((4000, 2), 3))
    hidden = (seen["embeddings.0.output"] == model.embeddings[0].weight[0]).all(-1).double().mean().item()
    assert hidden == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / 4000) ** 0.5)  # four standard deviations


def test_dropout_in_training_only():
    model = build(SPEC.but(dropout=0.5))
    assert not torch.equal(model.train()(NUMBERS, IDS), model.train()(NUMBERS, IDS))
    assert torch.equal(model.eval()(NUMBERS, IDS), model.eval()(NUMBERS, IDS))


def test_rows_do_not_meet():
    model = build()
    torch.testing.assert_close(model(NUMBERS, IDS)[3:5], model(NUMBERS[3:5], IDS[3:5]))
    grid = model(NUMBERS[:10].reshape(2, 5, 2), IDS[:10].reshape(2, 5, 2))
    torch.testing.assert_close(grid.reshape(10, 3), model(NUMBERS[:10], IDS[:10]))


def test_numbers_alone_and_categories_alone():
    assert TableNet(task="regression", numbers=2)(torch.randn(5, 2)).shape == (5, 1)
    model = TableNet(task="binary", cardinalities=(3,))
    assert model(torch.empty(5, 0), torch.tensor([[0], [1], [2], [0], [1]])).shape == (5, 1)


def test_the_heads_of_the_tasks():
    for task, outputs in (("regression", 2), ("binary", 1), ("multi-class", 4), ("multi-label", 3)):
        model = TableNet(task=task, outputs=outputs, numbers=2, width=3)
        assert model(torch.randn(5, 2)).shape == (5, outputs)
        assert model.head.task.kind == task


def test_spec_goes_through_json():
    again = TableNetSpec.from_dict(json.loads(json.dumps(SPEC.to_dict())))
    assert again == SPEC
    assert SPEC.to_dict()["model"] == "TableNet"


def test_weights_load_into_a_model_that_was_built_without_memory():
    model = build()
    with torch.device("meta"):
        other = TableNet.from_spec(SPEC)
    other.load_state_dict(model.state_dict(), assign=True)
    assert torch.equal(other(NUMBERS, IDS), model(NUMBERS, IDS))


def test_bad_specs():
    with pytest.raises(ValueError, match="must have a number or a category, got numbers=0 and none; count its columns"):
        TableNetSpec("binary")
    with pytest.raises(ValueError, match="a count for each of the 2 numbers, got 1 counts; leave pieces out"):
        TableNetSpec("binary", numbers=2, pieces=(3,))
    with pytest.raises(ValueError, match="depth must be 0 or above, got -1; try depth=0"):
        TableNetSpec("binary", numbers=2, depth=-1)
    with pytest.raises(ValueError, match=r"every category column must have an id, got cardinalities=\(3, 0\)"):
        TableNetSpec("binary", cardinalities=(3, 0))
    with pytest.raises(ValueError, match="norm must be one of none, layer, batch, got 'group'"):
        TableNetSpec("binary", numbers=2, norm="group")
    with pytest.raises(
        ValueError, match="kind must be one of regression, binary, multi-class, multi-label, got 'rank'"
    ):
        TableNetSpec("rank", numbers=2)
    with pytest.raises(
        ValueError, match="a TableNetSpec describes a TableNet, got 'GPT'; use spec_from_dict for any model"
    ):
        TableNetSpec.from_dict(SPEC.to_dict() | {"model": "GPT"})
    with pytest.raises(ValueError, match="reads specs up to version 1, got version 9; upgrade cutaway"):
        TableNetSpec.from_dict(SPEC.to_dict() | {"version": 9})


@pytest.mark.untyped
def test_bad_input():
    model = TableNet(SPEC)
    with pytest.raises(ValueError, match=r"the last axis of numbers must have width 2, got shape \(5, 3\)"):
        model(torch.randn(5, 3), IDS[:5])
    with pytest.raises(ValueError, match="this table has 2 category columns, got categories=None; pass their ids"):
        model(torch.randn(5, 2))
    with pytest.raises(ValueError, match=r"categories must be ids, whole numbers, got torch\.float32; convert them"):
        model(torch.randn(5, 2), IDS[:5].float())
    with pytest.raises(ValueError, match=r"the last axis of categories must have width 2, got shape \(5, 1\)"):
        model(torch.randn(5, 2), IDS[:5, :1])
