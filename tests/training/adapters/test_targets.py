"""Which linear layers a glob names: whole ones, maps inside one, all that a module holds, all but the outputs."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import LoRA
from cutaway.registry import entries
from cutaway.training.adapters.targets import Target, find_targets, lora_layers


def names(targets: list[Target]) -> list[str]:
    return [f"{target.layer.path}:{target.part}" for target in targets]


def gpt(**more):
    return cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4, **more)


def test_a_module_stands_for_the_maps_inside_it():
    of_one = ["qkv:queries", "qkv:keys", "qkv:values", "out:whole"]
    assert names(find_targets(gpt(), "blocks.1.attention")) == [f"blocks.1.attention.{x}" for x in of_one]
    assert names(find_targets(gpt(), "blocks.0.**")) == [
        *(f"blocks.0.attention.{x}" for x in of_one),
        *("blocks.0.mlp.up:whole", "blocks.0.mlp.down:whole"),
    ]


def test_maps_inside_one_matrix_have_addresses_of_their_own():
    found = names(find_targets(gpt(), ["blocks.*.attention.values", "blocks.*.attention.queries"]))
    assert found == [f"blocks.{i}.attention.qkv:{part}" for i in (0, 1) for part in ("queries", "values")]
    assert names(find_targets(gpt(), "blocks.0.attention.qkv")) == ["blocks.0.attention.qkv:whole"]
    assert names(find_targets(gpt(), "blocks.0.attention.q*")) == ["blocks.0.attention.qkv:queries"]
    llama = cut.models.GPT.llama(vocabulary=11, width=8, depth=1, heads=4, kv_heads=2, context=4)
    (target,) = find_targets(llama, "blocks.0.mlp.gates")
    assert target.layer.parts == {"gates": target.layer.parts["ups"], "ups": target.layer.parts["gates"]}
    (target,) = find_targets(llama, "blocks.0.attention.keys")
    assert target.layer.parts == {"queries": 8, "keys": 4, "values": 4}


def test_all_linear_leaves_out_what_makes_the_outputs():
    untied = cut.models.GPT.llama(vocabulary=11, width=8, depth=1, heads=2, context=4, tied=False)
    assert {name.split(".")[0] for name in names(find_targets(untied, "all-linear"))} == {"blocks"}
    assert len(find_targets(untied, "all-linear")) == 7
    assert names(find_targets(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), "all-linear")) == ["0:whole"]
    with pytest.raises(ValueError, match=r"all-linear is every linear layer but the outputs', got .* no other: 0;"):
        find_targets(nn.Sequential(nn.Linear(3, 4)), "all-linear")


def test_all_linear_of_a_transformers_model_is_that_of_peft():
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = BertForSequenceClassification(BertConfig(**sizes, intermediate_size=12))
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_embd=8, n_layer=2, n_head=2))
    for model, task in ((bert, TaskType.SEQ_CLS), (gpt2, TaskType.CAUSAL_LM)):
        ours = [target.layer.path for target in find_targets(model, "all-linear")]
        theirs = get_peft_model(model, LoraConfig(target_modules="all-linear", task_type=task, r=2))
        found = {name for name, module in theirs.base_model.model.named_modules() if hasattr(module, "lora_A")}
        assert set(ours) == found


def test_a_shared_layer_is_named_once():
    shared = nn.Linear(3, 3)
    assert names(find_targets(nn.Sequential(shared, nn.ReLU(), shared), "**")) == ["0:whole"]


def test_what_names_nothing_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"got 'blocks.\*.atention'; the nearest known are: blocks.1.attention.qkv"):
        find_targets(gpt(), "blocks.*.atention")
    with pytest.raises(ValueError, match=r"linear layers .* got 'embed'"):
        find_targets(gpt(), "embed")
    with pytest.raises(ValueError, match=r"whole or by its parts, got blocks.0.attention.qkv and of it queries, keys"):
        find_targets(gpt(), ["blocks.0.attention.qkv", "blocks.0.attention"])
    with pytest.raises(ValueError, match="a Linear without one inside that it could replace"):
        find_targets(nn.Linear(3, 3), "**")


@pytest.mark.untyped
def test_globs_are_texts():
    with pytest.raises(ValueError, match="must be an address or a glob, got 3"):
        find_targets(gpt(), [3])


def test_layers_whose_matrix_is_read_without_calling_them_are_refused():
    attention = nn.Sequential(nn.MultiheadAttention(4, 2), nn.Linear(4, 4))
    assert names(find_targets(attention, "**")) == ["1:whole"]
    with pytest.raises(ValueError, match=r"a layer that is called, got 0.out_proj, whose matrix is read"):
        find_targets(attention, "0.out_proj")
    lstm = nn.Sequential(cut.blocks.LSTM(3, 4), nn.Linear(4, 2))
    assert names(find_targets(lstm, "**")) == ["1:whole"]


def test_every_layer_that_can_be_named_is_really_called():
    """No registered block or model goes around a linear layer that stands in for one of its own."""
    tried = 0
    for entry in entries():
        torch.manual_seed(0)
        block, *inputs = entry.example()
        if not isinstance(block, nn.Module) or isinstance(block, LoRA) or not lora_layers(block)[0]:
            continue
        cut.lora(block, "**", rank=1)
        wrappers = {path: module for path, module in block.named_modules() if isinstance(module, LoRA)}
        called = set()
        for module in wrappers.values():
            module.register_forward_hook(lambda module, *_, called=called: called.add(module))
        torch.manual_seed(1)
        block(*inputs)
        assert called == set(wrappers.values()), entry.name
        tried += len(wrappers)
    assert tried > 50
