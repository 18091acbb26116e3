"""The network of cells: its equation written out, and what it can and cannot know."""

import json

import pytest
import torch
from torch import nn

from cutaway.models import CellNet, CellNetSpec
from cutaway.models.by_spec import from_spec, spec_from_dict

SPEC = CellNetSpec(inputs=(1, 3), bins=(4, 3), cardinalities=(3, 2), pieces=(3, 0), width=7, depth=2, dropout=0.0)
NUMBERS = torch.rand(5, 4, generator=torch.Generator().manual_seed(1))
IDS = torch.tensor([[0, 1], [1, 0], [2, 0], [2, 1], [0, 0]])
KNOWN = ~torch.eye(5, 4, dtype=torch.bool)


def test_as_written_out():
    model = CellNet(SPEC)
    x = model.cells(NUMBERS, IDS, KNOWN).reshape(5, -1) @ model.enter.weight + model.enter.bias
    for block in model.blocks:
        normed = nn.functional.layer_norm(x, (7,), block.norm.weight, block.norm.bias)
        x = x + torch.relu(normed @ block.dense.linear.weight + block.dense.linear.bias)
    x = nn.functional.layer_norm(x, (7,), model.norm.weight, model.norm.bias)
    torch.testing.assert_close(model(NUMBERS, IDS, KNOWN), x @ model.restore.weight + model.restore.bias)
    assert model.restore.outputs == 4 + 3 + 3 + 2


def test_outcomes_are_bins_and_ids():
    model = CellNet(SPEC)
    edges = [torch.tensor([0.2, 0.5, 0.8]), torch.tensor([0.3, 0.6])]
    model.bins.set_bins([NUMBERS[:, 0], NUMBERS[:, 1]], edges)
    found = model.outcomes(NUMBERS, IDS)
    assert torch.equal(found[:, 0], torch.bucketize(NUMBERS[:, 0].contiguous(), edges[0], right=True))
    assert torch.equal(found[:, 1], torch.bucketize(NUMBERS[:, 1].contiguous(), edges[1], right=True))
    assert torch.equal(found[:, 2:], IDS)


def test_the_spec_goes_through_json():
    model = from_spec(spec_from_dict(json.loads(json.dumps(SPEC.but(task="multi-class", outputs=3).to_dict()))))
    assert isinstance(model, CellNet)
    assert model.restore is None
    assert model(NUMBERS, IDS).shape == (5, 3)


def test_bad_specs():
    with pytest.raises(ValueError, match="bins must be a count for each of the 2 numbers, got 1 counts"):
        CellNetSpec(inputs=(1, 1), bins=(4,))
    with pytest.raises(ValueError, match=r"every column must have an outcome, got bins=\(\), cardinalities=\(3, 0\)"):
        CellNetSpec(cardinalities=(3, 0))
