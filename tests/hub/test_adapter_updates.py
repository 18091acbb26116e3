"""Updates of a whole split into parts, and of parts joined into a whole: the same outputs."""

import pytest
import torch
from torch import nn

from cutaway.blocks import DoRA, Linear, LoRA, LowRank
from cutaway.hub.adapter_names import Place
from cutaway.hub.adapter_updates import joined_update, split_update
from cutaway.training.adapters.targets import Layer

PARTS = {"queries": 4, "keys": 2, "values": 3}


def layer_with(kind, parts):
    torch.manual_seed(0)
    base = Linear(5, 9).double()
    layer = LoRA(base, rank=0, parts=PARTS)
    sizes = PARTS | {"whole": 9}
    layer.add("default", {part: kind(5, sizes[part], 2, alpha=alpha).double() for part, alpha in parts.items()})
    for p in layer.lora.parameters():
        nn.init.uniform_(p)
    return layer


@pytest.mark.parametrize("kind", [LowRank, DoRA])
def test_parts_joined(kind):
    layer = layer_with(kind, {"queries": 3.0, "values": 5.0})
    x = torch.randn(2, 5).double()
    expected = layer(x)
    whole = joined_update(layer, layer.updates("default"))
    assert whole.rank == 4
    layer.remove("default")
    layer.add("default", {"whole": whole})
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("kind", [LowRank, DoRA])
def test_a_whole_split(kind):
    layer = layer_with(kind, {"whole": 3.0})
    x = torch.randn(2, 5).double()
    expected = layer(x)
    first, updates = 0, {}
    for part, size in PARTS.items():
        place = Place(part, Layer("qkv", layer, PARTS), slice(first, first + size), part)
        updates[part] = split_update(layer.updates("default"), place)
        first += size
    layer.remove("default")
    layer.add("default", updates)
    torch.testing.assert_close(layer(x), expected)


def test_a_part_without_an_update():
    layer = layer_with(LowRank, {"queries": 3.0})
    place = Place("keys", Layer("qkv", layer, PARTS), slice(4, 6), "keys")
    assert split_update(layer.updates("default"), place) is None
