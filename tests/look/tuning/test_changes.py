"""What changed between two models, LoRA counted as part of the weights."""

import copy

import pytest
import torch

import cutaway as cut
from cutaway.look.tuning.changes import plain_weights
from cutaway.models import BERT


def build() -> BERT:
    torch.manual_seed(0)
    return BERT(vocabulary=11, width=6, depth=2, heads=2, context=9)


def test_lora_is_part_of_the_weights():
    before, after = build(), build()
    cut.lora(after, "blocks.*.mlp.up", rank=2)
    for name, parameter in after.named_parameters():
        if "lora" in name:
            torch.nn.init.normal_(parameter)
    found = cut.look.what_changed(before, after, torch.randint(0, 11, (6, 5)))
    by_name = {change.name: change for change in found.weights}
    assert by_name["blocks.0.mlp.up.weight"].relative > 0
    assert by_name["blocks.0.mlp.up.weight"].rank <= 2 + 1e-3
    assert by_name["blocks.0.mlp.down.weight"].relative == 0
    assert found.similarity.shape == (2, 2)
    assert len(found.pictures()) == 4
    merged = copy.deepcopy(after)
    cut.merge(merged)
    torch.testing.assert_close(
        plain_weights(after)["blocks.0.mlp.up.weight"].float(), merged.state_dict()["blocks.0.mlp.up.weight"]
    )


def test_queries_keys_and_values_are_apart():
    before, after = build(), build()
    with torch.no_grad():
        after.blocks[1].attention.qkv.weight[:, 6:12] += 1.0
    found = cut.look.what_changed(before, after, torch.randint(0, 11, (6, 5)))
    by_name = {change.name: change.relative for change in found.weights}
    assert by_name["blocks.1.attention.keys.weight"] > 0
    assert by_name["blocks.1.attention.queries.weight"] == by_name["blocks.1.attention.values.weight"] == 0
    assert "blocks.1.attention.qkv.weight" not in by_name
    inside = [name.split(".")[-2] for name in by_name if name.startswith("blocks.0.attention")]
    assert inside == ["queries", "keys", "values", "out"]
    assert "blocks.1.attention.keys changed most, by" in found.pictures()[0].caption


def test_inputs_are_needed():
    with pytest.raises(ValueError, match="representations need inputs to be compared, got none"):
        cut.look.what_changed(build(), build())
