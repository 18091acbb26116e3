"""Similarity of layers before and after."""

import numpy as np
import pytest
import torch

from cutaway.look.tuning.representations import layer_similarity, layer_states, similarity_pictures
from cutaway.models import BERT

SIZES = dict(vocabulary=11, width=6, depth=3, heads=2, context=9)


def test_the_same_model_and_a_changed_layer():
    before, after = BERT(**SIZES), BERT(**SIZES)
    after.load_state_dict(before.state_dict())
    inputs = [(torch.randint(0, 11, (8, 7)),)]
    layers, same = layer_similarity(before, after, inputs)
    assert layers == ["blocks.0", "blocks.1", "blocks.2"]
    np.testing.assert_allclose(np.diag(same), 1)
    with torch.no_grad():
        after.blocks[1].mlp.down.weight.add_(9 * torch.randn_like(after.blocks[1].mlp.down.weight))
    _, changed = layer_similarity(before, after, inputs)
    assert changed[0, 0] == pytest.approx(1)
    assert changed[1, 1] < 0.999 * same[1, 1]
    whole, curve = similarity_pictures(layers, changed)
    assert "3 × 3" in whole.alt
    assert "least in blocks." in curve.alt
    assert "changed most (" in curve.caption
    _, curve = similarity_pictures(layers, np.ones((3, 3)))
    assert "no layer changed in a way that three digits show" in curve.caption


def test_padding_is_left_out():
    model = BERT(**SIZES)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    states = layer_states(model, [(torch.ones(2, 3).long(), {"mask": mask})], ["blocks.0"])
    assert states["blocks.0"].shape == (5, 6)


def test_no_layers_of_that_name():
    with pytest.raises(ValueError, match=r"layers must be addresses of the model, got stages\.\*, which name none"):
        layer_similarity(BERT(**SIZES), BERT(**SIZES), [(torch.ones(1, 2).long(),)], ["stages.*"])
