"""Updates of weights: by hand, by layer and part, and drawn."""

import math

import torch

from cutaway.look.tuning.weight_changes import weight_change_pictures, weight_changes


def states() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    names = [f"blocks.{i}.{part}.weight" for i in range(2) for part in ("mlp.up", "attention.qkv")]
    before = {name: torch.eye(3) for name in names} | {
        "embed.weight": torch.ones(5, 2),
        "blocks.0.norm.bias": torch.ones(3),
    }
    after = {name: x.clone() for name, x in before.items()} | {"head.weight": torch.ones(2, 2)}
    after["blocks.1.mlp.up.weight"][0, 0] += 3.0
    after["blocks.0.attention.qkv.weight"] = 1.5 * torch.eye(3)
    return before, after


def test_by_hand():
    found = {change.name: change for change in weight_changes(*states())}
    assert "head.weight" not in found  # the base has none
    assert "blocks.0.norm.bias" not in found
    one = found["blocks.1.mlp.up.weight"]
    assert (one.layer, one.part, one.most) == ("blocks.1", "mlp.up", 3)
    assert math.isclose(one.relative, 3 / math.sqrt(3), rel_tol=1e-6)
    assert math.isclose(one.rank, 1, rel_tol=1e-5)
    assert math.isclose(found["blocks.0.attention.qkv.weight"].rank, 3, rel_tol=1e-5)
    assert found["embed.weight"].relative == 0
    assert found["embed.weight"].rank == 0


def test_pictures():
    moved, ranks = weight_change_pictures(weight_changes(*states()))
    assert "blocks.1.mlp.up changed most, by 173% of its own length" in moved.caption
    assert "2 × 2" in moved.alt
    assert "0 to 3 of up to 3 directions" in ranks.caption
    allowed = dict.fromkeys((change.name for change in weight_changes(*states()) if change.layer), 3)
    _, ranks = weight_change_pictures(weight_changes(*states()), allowed)
    assert ranks.caption == "Updates use 0 to 3 of the 3 directions that LoRA of rank 3 has."
    _, ranks = weight_change_pictures(weight_changes(*states()), {"blocks.1.mlp.up.weight": 2})
    assert ranks.caption == "Updates use 1 to 1 of the 2 directions that LoRA of rank 2 has.", "others use all"
    _, ranks = weight_change_pictures(weight_changes(*states()), allowed | {"blocks.1.mlp.up.weight": 2})
    assert ranks.caption == "Updates use 0 to 3 of up to 3 directions that LoRA has there."
    before, _ = states()
    assert weight_change_pictures(weight_changes(before, before)) == []


def test_rounding_is_no_change():
    weight = torch.randn(7, 5)
    (change,) = weight_changes({"a.0.weight": weight}, {"a.0.weight": weight * (1 + 1e-7)})
    assert (change.relative, change.rank) == (0, 0)
    (change,) = weight_changes({"a.0.weight": weight}, {"a.0.weight": weight * (1 + 1e-5)})
    assert change.relative > 5e-6
