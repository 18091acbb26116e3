"""cut.adapter on models: its equation after a module, what it leaves, and that it cannot be merged."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks.low_rank.bottleneck import Bottleneck, BottleneckAfter

TOKENS = torch.arange(8).view(2, 4)


def gpt():
    torch.manual_seed(0)
    return cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4)


def draw(model):
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, Bottleneck):
            nn.init.normal_(module.up)
    return model


def test_it_changes_nothing_at_first_and_trains_itself_alone():
    model = gpt()
    before = model(TOKENS)
    summary = cut.adapter(model, "blocks.*", width=3, train="norm.bias")
    assert torch.equal(model(TOKENS), before)
    assert summary.trainable == 2 * (8 * 3 + 3 + 3 * 8 + 8) + 8
    assert summary.targets == ("blocks.0", "blocks.1")
    assert str(summary).startswith("adapter 'default' in 2 places: 126 of ")
    draw(model)(TOKENS).sum().backward()
    assert {name for name, p in model.named_parameters() if p.grad is not None} == {
        name for name, _ in model.named_parameters() if ".adapters." in name or name == "norm.bias"
    }


def test_what_the_module_gives_is_changed_and_addresses_stay():
    model = gpt().eval()
    plain = set(cut.addresses(model))
    with cut.trace(model, "blocks.0.mlp") as before:
        model(TOKENS)
    cut.adapter(model, ["blocks.*.attention", "blocks.*.mlp"], width=3)
    assert plain <= set(cut.addresses(model))
    draw(model)
    made = model.blocks[0].mlp.adapters.default
    with cut.trace(model, "blocks.0.mlp", "blocks.0.mlp.output", "**.hidden") as seen:
        model(TOKENS)
    y = seen["blocks.0.mlp.output"]
    by_hand = y + cut.blocks.gelu(y @ made.down + made.down_bias) @ made.up + made.up_bias
    torch.testing.assert_close(seen["blocks.0.mlp"], by_hand)
    assert seen["blocks.0.mlp.adapters.default.hidden"].shape == (2, 4, 3)
    assert not torch.equal(seen["blocks.0.mlp"], before["blocks.0.mlp"])


def test_generation_and_switching_and_removal():
    model = gpt().eval()
    base = model(TOKENS)
    summary = cut.adapter(model, "blocks.*", width=3)
    draw(model)
    with torch.no_grad():
        whole, cache = model(TOKENS[:1]), model.new_cache(1)
        steps = [model(TOKENS[:1, i : i + 1], cache=cache) for i in range(4)]
    torch.testing.assert_close(torch.cat(steps, 1), whole)
    with cut.use(model, None):
        assert torch.equal(model(TOKENS), base)
    assert not torch.equal(model(TOKENS), base)
    summary.remove()
    assert torch.equal(model(TOKENS), base)
    assert not any(isinstance(module, BottleneckAfter) for module in model.modules())


def test_both_kinds_on_one_model():
    model = gpt().double().eval()
    cut.lora(model, "blocks.*.mlp", name="low")
    cut.adapter(model, "blocks.*.mlp", width=3, name="wide")
    cut.use(model, ["low", "wide"])
    before = draw(model)(TOKENS)
    with pytest.raises(ValueError, match="merging is for LoRA, got a model that also uses wide"):
        cut.merge(model)
    cut.remove_adapter(model, "low")
    torch.testing.assert_close(model(TOKENS), before)  # its updates were 0
    with pytest.raises(ValueError, match="got a model without LoRA"):
        cut.merge(model)
    cut.lora(model, "blocks.*.mlp", name="low")  # inside the wrapped modules
    torch.testing.assert_close(model(TOKENS), before)


def test_layers_of_transformers_that_give_tuples():
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=11, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2)
    theirs = T5EncoderModel(config).eval()
    before = theirs(TOKENS).last_hidden_state
    cut.adapter(theirs, "encoder.block.*.layer.*", width=3)
    torch.testing.assert_close(theirs(TOKENS).last_hidden_state, before)  # a frozen bias takes another kernel
    assert (draw(theirs)(TOKENS).last_hidden_state - before).abs().max() > 0.1


def test_mistakes():
    model = gpt()
    with pytest.raises(ValueError, match=r"name modules to put an adapter after, got 'block.\*'; .* blocks"):
        cut.adapter(model, "block.*")
    with pytest.raises(ValueError, match=r"got norm, a LayerNorm without one"):
        cut.adapter(model, "norm")
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        cut.adapter(model, width=0)
    with pytest.raises(ValueError, match="adapters need modules to be put after, got no target"):
        cut.adapter(model, [])
    with pytest.raises(ValueError, match=r"must know their sizes before they are tuned, got 0\.weight of a lazy one"):
        cut.adapter(nn.Sequential(nn.LazyLinear(3)), "0")
    assert all(p.requires_grad for p in model.parameters())


@pytest.mark.untyped
def test_widths_are_whole_numbers():
    with pytest.raises(ValueError, match=r"width must be a whole number, got 2\.5; try width=8"):
        cut.adapter(gpt(), width=2.5)
