"""Adapters in peft's layout, both ways: random updates, ranks, scales, heads and biases give peft's own logits."""

import json
import warnings

import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn

import cutaway as cut
from cutaway.hub.peft_config import CONFIG, WEIGHTS

BERT = {"vocab_size": 61, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
GPT2 = {"vocab_size": 61, "n_positions": 23, "n_embd": 12, "n_layer": 2, "n_head": 3, "bos_token_id": 0}
LLAMA = BERT | {"hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3, "attention_bias": True}
T5 = {"vocab_size": 61, "d_model": 12, "d_kv": 5, "d_ff": 20, "num_layers": 2, "num_heads": 3}
VIT = {key: value for key, value in BERT.items() if key != "vocab_size"} | {"image_size": 12, "patch_size": 4}
# class, settings, our targets, peft's targets, how exact (transformers computes rotations and T5's softmax in float32)
CASES = {
    "bert": ("BertForSequenceClassification", BERT, "blocks.*.attention", ["query", "value", "dense"], 1e-10),
    "gpt2": (
        *("GPT2LMHeadModel", GPT2 | {"eos_token_id": 0}),
        *(["blocks.*.attention.queries", "blocks.*.attention.values", "blocks.*.mlp"], ["c_attn", "c_fc"], 1e-10),
    ),
    "llama": ("LlamaForCausalLM", LLAMA, "all-linear", "all-linear", 1e-5),
    "t5": ("T5ForConditionalGeneration", T5, ["**.attention", "**.cross.qkv"], ["q", "v", "wo"], 1e-5),
    "vit": ("ViTForImageClassification", VIT, "all-linear", ["q_proj", "v_proj", "fc1"], 1e-10),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def base(kind, folder):
    """A random checkpoint of the kind, on disk, in float64."""
    name, settings = CASES[kind][:2]
    torch.manual_seed(0)
    maker = getattr(transformers, name)
    maker(maker.config_class(**settings)).double().save_pretrained(folder)
    return theirs(kind, folder), cut.from_pretrained(folder)


def theirs(kind, folder):
    return getattr(transformers, CASES[kind][0]).from_pretrained(folder, dtype=torch.float64).eval()


def inputs(kind):
    if kind == "vit":
        return {"pixel_values": torch.rand(2, 3, 12, 12, dtype=torch.float64)}
    tokens = torch.arange(3, 17).view(2, 7)
    return {"input_ids": tokens} | ({"decoder_input_ids": tokens} if kind == "t5" else {})


def draw(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad and not ("lora_A" in name or name.endswith(".a")):
                p.add_(torch.rand_like(p))
    return model.eval()


@pytest.mark.parametrize("dora", [False, True], ids=["lora", "dora"])
@pytest.mark.parametrize("kind", CASES)
def test_peft_loads_ours_and_we_load_it_again(kind, dora, tmp_path):
    other, model = base(kind, tmp_path / "base")
    given = inputs(kind)
    before = model(*given.values())
    has_head = kind in ("bert", "vit")
    cut.lora(model, CASES[kind][2], rank=2, alpha=5, dora=dora, biases="lora", train="head" if has_head else ())
    expected = draw(model)(*given.values())
    assert (expected - before).abs().max() > 0.05
    cut.save_adapter(model, tmp_path / "adapter")
    loaded = peft.PeftModel.from_pretrained(other, tmp_path / "adapter").eval()
    torch.testing.assert_close(loaded(**given).logits, expected, rtol=0, atol=CASES[kind][4])
    again = cut.from_pretrained(tmp_path / "base")
    summary = cut.load_adapter(again, tmp_path / "adapter")
    assert summary.kind == ("DoRA" if dora else "LoRA")
    torch.testing.assert_close(again(*given.values()), expected, rtol=0, atol=1e-13)
    cut.use(again, None)
    torch.testing.assert_close(again(*given.values()), before, rtol=0, atol=1e-13)  # the base's head is there too


@pytest.mark.parametrize("dora", [False, True], ids=["rooted", "dora"])
@pytest.mark.parametrize("kind", CASES)
def test_we_load_what_peft_has_written(kind, dora, tmp_path):
    other, model = base(kind, tmp_path / "base")
    config = peft.LoraConfig(
        target_modules=CASES[kind][3],
        r=3,
        lora_alpha=7,
        rank_pattern={"1.*": 2},
        alpha_pattern={".*0.*": 4},
        use_dora=dora,
        use_rslora=not dora,
        bias="lora_only",
        task_type="SEQ_CLS" if kind == "bert" else None,
    )
    tuned = draw(peft.get_peft_model(other, config))
    tuned.save_pretrained(tmp_path / "adapter")
    cut.load_adapter(model, tmp_path / "adapter", name="theirs")
    given = inputs(kind)
    torch.testing.assert_close(model(*given.values()), tuned(**given).logits, rtol=0, atol=CASES[kind][4])
    cut.merge(model)
    torch.testing.assert_close(model(*given.values()), tuned(**given).logits, rtol=0, atol=CASES[kind][4])


def test_an_adapter_of_a_transformers_model_fits_ours(tmp_path):
    """Put onto their model by cut.lora, saved, and loaded onto ours of the same checkpoint: the digests agree."""
    other, model = base("bert", tmp_path / "base")
    cut.lora(other, "**.query", rank=2, train="classifier")
    draw(other)
    cut.save_adapter(other, tmp_path / "adapter")
    cut.load_adapter(model, tmp_path / "adapter")
    given = inputs("bert")
    torch.testing.assert_close(model(*given.values()), other(**given).logits, rtol=0, atol=1e-10)


def gpt(seed=0, width=8):
    torch.manual_seed(seed)
    return cut.models.GPT(vocabulary=11, width=width, depth=2, heads=2, context=4, dropout=0.1).eval()


TOKENS = torch.arange(8).view(2, 4)


def test_the_file_holds_the_adapter_alone_and_peft_sees_nothing_strange(tmp_path):
    model = gpt()
    cut.lora(model, "blocks.*.mlp", rank=2)
    cut.save_adapter(draw(model), tmp_path)
    assert (tmp_path / WEIGHTS).stat().st_size < 5000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = peft.PeftConfig.from_pretrained(tmp_path)
    assert (config.r, config.lora_alpha, config.task_type) == (2, 2, "CAUSAL_LM")
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]


def test_a_model_that_no_family_has_keeps_its_names(tmp_path):
    def make():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), cut.blocks.MultiHeadAttention(4, 2), nn.Linear(4, 2)).eval()

    model, other, x = make(), make(), torch.randn(2, 5, 3)
    cut.lora(model, ["0", "2.queries"], rank=2, train="3", name="mine")
    cut.save_adapter(draw(model), tmp_path, "mine")
    names = set(json.loads((tmp_path / CONFIG).read_text())["target_modules"])
    assert names == {"0", "2.queries"}
    assert cut.load_adapter(other, tmp_path).name == "mine"
    assert torch.equal(other(x), model(x))


def test_an_adapter_not_in_use_is_saved_with_its_own_values(tmp_path):
    model, other = gpt(), gpt()
    cut.lora(model, "blocks.*.mlp", rank=2, train="norm")
    expected = draw(model)(TOKENS)
    cut.use(model, None)
    cut.save_adapter(model, tmp_path)
    cut.load_adapter(other, tmp_path)
    assert torch.equal(other(TOKENS), expected)


def test_another_base_is_refused(tmp_path):
    model = gpt()
    cut.lora(model, "blocks.*.attention.values", rank=2)
    cut.save_adapter(draw(model), tmp_path)
    other = gpt(seed=1)
    with pytest.raises(ValueError, match=r"trained on \(digest \w{32}\), got other weights .* or pass force=True"):
        cut.load_adapter(other, tmp_path)
    assert not any(isinstance(module, cut.blocks.LoRA) for module in other.modules())
    cut.load_adapter(other, tmp_path, force=True)
    with pytest.raises(
        ValueError, match=r"got A \(2, 8\) and B \(24, 2\) for transformer.h.0.attn.c_attn, which is 12"
    ):
        cut.load_adapter(gpt(width=12), tmp_path, force=True)
    with pytest.raises(
        ValueError, match=r"must be for linear layers or convolutions of the model, got transformer.h.0.attn.c_attn"
    ):
        cut.load_adapter(nn.Sequential(nn.Linear(3, 3)), tmp_path, force=True)
    with pytest.raises(ValueError, match="has an adapter named 'default' already"):
        cut.load_adapter(model, tmp_path)
    cut.merge(model)
    with pytest.raises(ValueError, match="a merged model"):
        cut.save_adapter(model, tmp_path)


def test_broken_folders(tmp_path):
    with pytest.raises(ValueError, match=f"{CONFIG} must be there"):
        cut.load_adapter(gpt(), tmp_path)
    model = gpt()
    cut.lora(model, "blocks.*.mlp", rank=2)
    cut.save_adapter(model, tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    for change, message in (
        ({"peft_type": "IA3"}, "peft_type LORA, got 'IA3'"),
        ({"layer_replication": [[0, 1]]}, r"layer_replication must not be set .* got \[\[0, 1\]\]"),
    ):
        (tmp_path / CONFIG).write_text(json.dumps(config | change))
        with pytest.raises(ValueError, match=message):
            cut.load_adapter(gpt(), tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config))
    whole = (tmp_path / WEIGHTS).read_bytes()
    (tmp_path / WEIGHTS).write_bytes(whole[:-10])
    with pytest.raises(ValueError, match="must be a whole safetensors file"):
        cut.load_adapter(gpt(), tmp_path)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(ValueError, match=f"must hold {WEIGHTS}, got none"):
        cut.load_adapter(gpt(), tmp_path)


def test_the_same_adapter_is_the_same_file(tmp_path):
    """The library that writes safetensors shuffles metadata from call to call."""
    model = gpt()
    cut.lora(model, "blocks.*.mlp", rank=2)
    files = {(cut.save_adapter(model, tmp_path / str(i)) / WEIGHTS).read_bytes() for i in range(8)}
    assert len(files) == 1
    whole = load_file(tmp_path / "0" / WEIGHTS)
    del whole[next(key for key in whole if "lora_A" in key)]
    save_file(whole, tmp_path / "0" / WEIGHTS)
    with pytest.raises(ValueError, match=r"must hold A and B of every module, got .* without A; take it from a copy"):
        cut.load_adapter(gpt(), tmp_path / "0")


def test_damage_is_found_by_the_checksum(tmp_path):
    model = gpt()
    cut.lora(model, "blocks.*.mlp", rank=2)
    cut.save_adapter(draw(model), tmp_path)
    whole = (tmp_path / WEIGHTS).read_bytes()
    for place in (60, len(whole) // 2, len(whole) - 3):
        content = bytearray(whole)
        content[place] ^= 4
        (tmp_path / WEIGHTS).write_bytes(content)
        with pytest.raises(ValueError, match=f"{WEIGHTS} must be a whole safetensors file as it was written, got one"):
            cut.load_adapter(gpt(), tmp_path)
    (tmp_path / WEIGHTS).write_bytes(whole)
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps(config | {"lora_alpha": 16}))
    with pytest.raises(ValueError, match=f"{CONFIG} must be as it was .* got lora_alpha=16 in .* where it was 2; take"):
        cut.load_adapter(gpt(), tmp_path)
    (tmp_path / CONFIG).write_text(json.dumps(config | {"base_model_name_or_path": "mine", "new": 1}))
    cut.load_adapter(gpt(), tmp_path)


def test_files_without_a_checksum_are_read(tmp_path):
    """As peft writes them, and Cutaway did before."""
    model = gpt()
    cut.lora(model, "blocks.*.mlp", rank=2)
    cut.save_adapter(draw(model), tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    save_file(tensors, tmp_path / WEIGHTS, metadata={"format": "pt"})
    again = gpt()
    cut.load_adapter(again, tmp_path)
    tokens = torch.arange(4).view(1, 4)
    torch.testing.assert_close(again(tokens), model(tokens), rtol=0, atol=0)
