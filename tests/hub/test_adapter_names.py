"""Names in an adapter's file: of transformers' modules, also with another prefix or of older versions."""

import torch
from torch import nn

import cutaway as cut
from cutaway.hub.adapter_names import AdapterNames
from cutaway.models import HeadSpec
from cutaway.models.base import with_head


def bert():
    return cut.models.BERT(vocabulary=11, width=8, depth=1, heads=2, context=4)


def test_parts_of_a_matrix_are_modules_of_theirs():
    names = AdapterNames(with_head(bert(), HeadSpec("classes", classes=3, hidden=True)))
    place = names.find("bert.encoder.layer.0.attention.self.value")
    assert (place.layer.path, place.part, place.columns) == ("blocks.0.attention.qkv", "values", slice(16, 24))
    assert names.find("encoder.layer.0.attention.self.value") == place  # from a model without a head
    assert names.find("nothing") is None
    assert names.owner_of("classifier.weight") == "head.classify.weight"
    assert set(names.tensors_of("blocks.0.attention.qkv.bias")) == {
        f"bert.encoder.layer.0.attention.self.{part}.bias" for part in ("query", "key", "value")
    }


def test_below_a_head_that_no_family_has_the_names_are_theirs_too():
    names = AdapterNames(with_head(bert(), HeadSpec("classes", classes=3, pooling="mean")))
    assert names.find("encoder.layer.0.attention.self.value").part == "values"
    assert names.owner_of("head.classify.weight") == "head.classify.weight"


def test_a_parameter_is_read_from_some_of_its_tensors():
    model = bert()
    names = AdapterNames(model)
    (key,) = [key for key in names.tensors_of("blocks.0.attention.qkv.bias") if key.endswith("key.bias")]
    loaded = names.load("blocks.0.attention.qkv.bias", {key: torch.ones(8)})
    assert loaded.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 8


def test_older_names_of_modules_are_known():
    model = cut.models.ViT(image=8, patch=4, channels=3, width=8, depth=1, heads=2, classes=3)
    names = AdapterNames(model)
    new, old = "vit.layers.0.attention.q_proj", "vit.encoder.layer.0.attention.attention.query"
    assert names.find(old) == names.find(new)
    assert names.find(new).part == "queries"
    assert names.find("vit.layers.0.mlp.fc2").layer.path == "blocks.0.mlp.down"
    assert names.filters_of("vit.embeddings.patch_embeddings.projection") == ((3, 4, 4), 1)


def test_other_models_have_their_own():
    model = nn.Sequential(nn.Linear(3, 4), cut.blocks.MultiHeadAttention(4, 2))
    assert set(AdapterNames(model).known) == {"0", "1.qkv", "1.out", "1.queries", "1.keys", "1.values"}
