"""What changed between two models, LoRA counted as part of the weights."""

import copy

import pytest
import torch

import cutaway as cut
from cutaway.look.tuning.changes import plain_weights, update_ranks
from cutaway.look.tuning.weight_changes import weight_change_pictures, weight_changes
from cutaway.models import BERT, GPT


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


@pytest.mark.parametrize("targets", ["all-linear", ["**.up", "**.qkv"], ["**.gates", "**.down"], "**"])
def test_gates_and_ups_are_apart_and_use_no_more_directions_than_they_have(targets):
    """W_g and W_u share a matrix: each has an update of its own rank, together they would have twice as many."""
    torch.manual_seed(0)
    before = GPT.llama(vocabulary=13, width=24, depth=2, heads=4, context=9)
    after = copy.deepcopy(before)
    cut.lora(after, targets, rank=3)
    for name, parameter in after.named_parameters():
        if ".lora." in name:
            torch.nn.init.normal_(parameter)
    changes = weight_changes(plain_weights(before), plain_weights(after))
    ranks = update_ranks(after)
    assert {"blocks.0.mlp.gates.weight", "blocks.0.mlp.ups.weight"} <= {change.name for change in changes}
    assert "blocks.0.mlp.up.weight" not in {change.name for change in changes}
    assert set(ranks.values()) == {3}
    for change in changes:
        assert change.rank <= ranks.get(change.name, 0) + 1e-3, change.name
        assert (change.relative > 0) == (change.name in ranks)
    assert "of the 3 directions that LoRA of rank 3 has" in weight_change_pictures(changes, ranks)[1].caption
    cut.lora(after, "blocks.0.mlp.gates", rank=2, name="more")
    assert update_ranks(after)["blocks.0.mlp.gates.weight"] == ranks.get("blocks.0.mlp.gates.weight", 0) + 2
    with cut.use(after, None):
        assert update_ranks(after) == {}
