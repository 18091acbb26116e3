"""Layer-wise learning rates: levels by hand, and the optimizers' groups."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.training import build_optimizers, set_rate
from cutaway.training.adapters.layer_rates import layer_levels, rate_shares
from cutaway.training.optimizers.groups import rates_of


def gpt():
    return cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4)


def test_levels_by_hand():
    levels = layer_levels(gpt())
    assert levels["embed.weight"] == levels["position.weight"] == 0
    assert levels["blocks.0.attention.qkv.weight"] == 1
    assert levels["blocks.1.norm_mlp.bias"] == 2
    assert levels["norm.weight"] == 3
    t5 = layer_levels(cut.models.T5(vocabulary=11, width=8, depth=2, heads=2))
    assert (t5["encoder.1.mlp.up.weight"], t5["decoder.0.mlp.up.weight"], t5["decoder_norm.weight"]) == (2, 1, 3)
    assert set(layer_levels(nn.Linear(2, 3)).values()) == {0}


def test_levels_of_transformers_models_and_of_adapters():
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    levels = layer_levels(BertForSequenceClassification(BertConfig(**sizes)))
    assert levels["bert.embeddings.LayerNorm.weight"] == 0
    assert levels["bert.encoder.layer.1.output.dense.weight"] == 2
    assert levels["bert.pooler.dense.weight"] == levels["classifier.bias"] == 3
    model = gpt()
    cut.lora(model, "blocks.*.mlp")
    assert layer_levels(model)["blocks.1.mlp.up.lora.default.whole.a"] == 2


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_groups_learn_at_their_share_of_the_rate(name):
    model = gpt()
    optimizers = build_optimizers(model, name, 0.1, 0.01, muon_rate=0.1, shares=rate_shares(model, 0.5))
    rates = {p: group["lr"] for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    assert len(rates) == len(list(model.parameters()))
    assert rates[model.embed.weight] == pytest.approx(0.1 / 8)
    assert rates[model.blocks[0].mlp.up.weight] == pytest.approx(0.1 / 4)
    assert rates[model.blocks[1].norm_mlp.bias] == pytest.approx(0.1 / 2)
    assert rates[model.norm.bias] == pytest.approx(0.1)
    set_rate(optimizers, 0.1)
    again = {p: group["lr"] for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    assert all(again[p] == pytest.approx(rate / 10) for p, rate in rates.items())
    assert rates_of(optimizers)["rate"] == pytest.approx(0.01)
    model(torch.arange(4)[None]).sum().backward()
    for optimizer in optimizers:
        optimizer.step()


def test_decay_is_a_share():
    with pytest.raises(ValueError, match=r"decay must be above 0 and at most 1, got 1.5"):
        rate_shares(gpt(), 1.5)
    assert set(rate_shares(gpt(), 1.0).values()) == {1.0}
