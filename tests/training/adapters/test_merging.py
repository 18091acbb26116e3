"""Merging: exact to rounding, undone bit for bit, and refused where it would do nothing or too much."""

import copy

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import LoRA
from cutaway.training import build_optimizers

TOKENS = torch.arange(8).view(2, 4)


def tuned(targets="blocks.*", dtype=torch.float64, **more):
    torch.manual_seed(0)
    model = cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4).to(dtype)
    cut.lora(model, targets, **more)
    for layer in model.modules():
        if isinstance(layer, LoRA):
            for update in layer.updates(layer.active[0]).values():
                nn.init.normal_(update.b)
    return model


@pytest.mark.parametrize("targets", ["blocks.*", "blocks.*.attention.qkv", "blocks.*.attention.values"])
def test_a_merged_model_computes_the_same_and_is_plain(targets):
    model = tuned(targets, dropout=0.5).eval()
    before = model(TOKENS)
    weights = copy.deepcopy(model.state_dict())
    merged = cut.merge(model)
    torch.testing.assert_close(model(TOKENS), before, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(model.train()(TOKENS), before, rtol=1e-12, atol=1e-12)  # no dropout is left
    assert merged.error < 1e-15
    assert not any(isinstance(module, LoRA) for module in model.modules())
    assert set(model.state_dict()) == {name for name in weights if ".lora." not in name}
    cut.unmerge(model)
    assert not torch.equal(model(TOKENS), before)  # in training the dropout is back
    assert torch.equal(model.eval()(TOKENS), before)
    state = model.state_dict()
    assert all(torch.equal(state[name], x) for name, x in weights.items())


def test_rounding_in_half_precision_is_stated():
    exact, single, half = (cut.merge(tuned(dtype=dtype)) for dtype in (torch.float64, torch.float32, torch.bfloat16))
    assert exact.error < single.error < 1e-6 < half.error
    assert exact.lost < single.lost < 1e-6 < half.lost
    assert "default merged into 8 matrices; rounding changed entries by at most" in str(half)
    small = tuned(dtype=torch.bfloat16)
    for layer in small.modules():
        if isinstance(layer, LoRA):
            for update in layer.updates("default").values():
                update.b.data *= 1e-6  # below the spacing of the weights
    before = copy.deepcopy(small.blocks[0].mlp.up.base.weight)
    assert cut.merge(small).lost > 0.9
    cut.unmerge(small)
    assert torch.equal(small.blocks[0].mlp.up.weight, before)


def test_merging_twice_or_nothing_is_refused():
    model = tuned()
    cut.merge(model)
    with pytest.raises(ValueError, match="can be merged once, got one that is merged already"):
        cut.merge(model)
    for change in (lambda: cut.lora(model, name="b"), lambda: cut.use(model, None), lambda: cut.remove_adapter(model)):
        with pytest.raises(ValueError, match=r"a merged model has its updates in its weights"):
            change()
    with pytest.raises(ValueError, match="training needs parameters that may change"):
        build_optimizers(model, "adamw", 0.1)
    cut.unmerge(model)
    with pytest.raises(ValueError, match="got a model that is not merged"):
        cut.unmerge(model)
    cut.use(model, None)
    with pytest.raises(ValueError, match=r"uses none of its adapters \(default\); choose with cut.use"):
        cut.merge(model)
    cut.remove_adapter(model)
    with pytest.raises(ValueError, match=r"got a model without LoRA; put it on with cut.lora"):
        cut.merge(model)


def test_only_what_is_in_use_is_merged():
    model = tuned(name="a")
    one = model(TOKENS)
    cut.lora(model, "blocks.0", name="b")
    cut.use(model, "a")
    assert cut.merge(model).names == ("a",)
    torch.testing.assert_close(model(TOKENS), one)
    cut.unmerge(model)
    cut.use(model, "b")
    cut.use(model, "a")
    assert torch.equal(model(TOKENS), one)


def test_a_weight_that_serves_elsewhere_is_not_changed():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            return self.head(self.embed(tokens))

    model = Tied()
    cut.lora(model, "head", rank=2)
    with pytest.raises(ValueError, match=r"one that two modules share \(embed.weight\); untie it first"):
        cut.merge(model)
    assert isinstance(model.head, LoRA)


def test_weights_that_changed_since_are_not_overwritten():
    model = tuned()
    cut.merge(model)
    with torch.no_grad():
        model.blocks[1].mlp.down.weight += 1
    changed = model(TOKENS)
    with pytest.raises(ValueError, match=r"the weights that merging made, got others in Linear \(32 → 8\)"):
        cut.unmerge(model)
    assert torch.equal(model(TOKENS), changed)


def test_copies_of_a_merged_model_are_unmerged_by_themselves():
    model = tuned()
    cut.merge(model)
    merged = model(TOKENS)
    twin = copy.deepcopy(model)
    cut.unmerge(twin)
    assert torch.equal(model(TOKENS), merged)
    torch.testing.assert_close(twin(TOKENS), merged)
    assert any(isinstance(module, LoRA) for module in twin.modules())
