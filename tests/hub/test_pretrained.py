"""Checkpoints in and out: sharded, tied, converted; and what is said to broken ones."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import cutaway as cut
from cutaway.hub import from_pretrained, save_pretrained
from cutaway.hub.family_choice import find_family
from cutaway.hub.mapped_tensors import Tensors
from cutaway.models import BERT, GPT, GPTSpec, HeadSpec, generate_text, stream_text
from cutaway.models.generation.texts import encode_prompt


@pytest.fixture
def broken(checkpoint, tmp_path):
    """A copy of a checkpoint with changed tensors or configuration."""

    def make(name: str, tensors=None, **config):
        folder = tmp_path / "broken"
        shutil.copytree(checkpoint(name).folder, folder)
        if tensors is not None:
            changed = load_file(folder / "model.safetensors")
            changed = tensors(changed)
            save_file({k: v.contiguous() for k, v in changed.items()}, folder / "model.safetensors")
        if config:
            told = json.loads((folder / "config.json").read_text())
            told = {key: value for key, value in (told | config).items() if value != "absent"}
            (folder / "config.json").write_text(json.dumps(told))
        return folder

    return make


def test_public_names():
    assert cut.from_pretrained is from_pretrained
    assert cut.save_pretrained is save_pretrained


def test_a_loaded_model_is_ready(checkpoint):
    model = from_pretrained(checkpoint("gpt2").folder)
    assert isinstance(model, GPT)
    assert not any(module.training for module in model.modules())
    assert all(p.requires_grad and not p.is_meta for p in model.parameters())
    assert model.tokenizer is None
    model(torch.tensor([[1, 2, 3]])).sum().backward()


def test_dtype(checkpoint):
    model = from_pretrained(checkpoint("gpt2").folder, dtype=torch.bfloat16)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}


def test_stored_dtype_is_kept(checkpoint, tmp_path):
    model = from_pretrained(checkpoint("llama").folder).half()
    save_pretrained(model, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float16"
    assert {p.dtype for p in from_pretrained(tmp_path).parameters()} == {torch.float16}


def test_shards(checkpoint, tmp_path):
    made = checkpoint("llama_tied")
    made.peer.save_pretrained(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert not (tmp_path / "model.safetensors").exists()
    one, several = from_pretrained(made.folder), from_pretrained(tmp_path)
    for (name, x), y in zip(one.state_dict().items(), several.state_dict().values(), strict=True):
        assert torch.equal(x, y), name


def test_tied_weights_stored_twice(broken):
    """Some files hold the tied output matrix once more; the embedding counts."""
    folder = broken("llama_tied", lambda t: t | {"lm_head.weight": torch.zeros(61, 24)})
    model = from_pretrained(folder)
    assert model.unembed is None
    assert model(torch.tensor([[1, 2]])).abs().max() > 0.1


def test_t5_scales_its_output_even_where_the_file_holds_it(broken, checkpoint):
    folder = broken("t5", lambda t: t | {"lm_head.weight": t["shared.weight"].clone()})
    tokens = torch.tensor([[5, 6, 7]])
    plain = from_pretrained(checkpoint("t5").folder)
    assert torch.equal(from_pretrained(folder)(tokens, tokens), plain(tokens, tokens))


def test_buffers_and_old_names_are_understood(broken, checkpoint):
    """As in the first GPT-2 and BERT files: causal masks, position numbers, gamma and beta."""

    def old(tensors):
        renamed = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
            for name, x in tensors.items()
        }
        return renamed | {"embeddings.position_ids": torch.arange(23)}

    tokens = torch.tensor([[5, 6, 7]])
    assert torch.equal(from_pretrained(broken("bert", old))(tokens), from_pretrained(checkpoint("bert").folder)(tokens))


def test_gpt2_without_its_prefix(broken, checkpoint):
    """The published GPT-2 has a head and no `transformer.` before its names, and its masks as tensors."""
    bare = lambda t: (
        {k.removeprefix("transformer."): v for k, v in t.items()} | {"h.0.attn.bias": torch.ones(1, 1, 23, 23)}
    )
    tokens = torch.tensor([[5, 6, 7]])
    expected = from_pretrained(checkpoint("gpt2").folder)(tokens)
    assert torch.equal(from_pretrained(broken("gpt2", bare))(tokens), expected)


def test_saving_over_the_folder_that_it_came_from(broken):
    """Weights are read from the file as they are needed; replacing it must not pull them from under the model."""
    folder = broken("gpt2")
    model = from_pretrained(folder)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    save_pretrained(model, folder)
    for name, x in model.state_dict().items():
        assert torch.equal(x, before[name])
    for name, x in from_pretrained(folder).state_dict().items():
        assert torch.equal(x, before[name])


def test_a_model_made_here_becomes_a_checkpoint(tmp_path):
    import transformers

    model = GPT(GPTSpec.llama(vocabulary=31, width=12, depth=2, heads=3, context=16, kv_heads=1)).eval()
    save_pretrained(model, tmp_path / "new" / "folder")
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new" / "folder").eval()
    tokens = torch.randint(0, 31, (2, 9))
    torch.testing.assert_close(model(tokens), peer(tokens).logits, rtol=0, atol=1e-5)


def test_missing_and_surplus_tensors_are_listed(broken):
    folder = broken("gpt2", lambda t: {k: v for k, v in t.items() if "ln_f" not in k} | {"extra": torch.ones(1)})
    with pytest.raises(
        ValueError,
        match=r"got missing transformer.ln_f.bias, transformer.ln_f.weight and surplus extra; the folder mixes",
    ):
        from_pretrained(folder)


def test_many_missing_tensors_are_counted(broken):
    with pytest.raises(ValueError, match=r"got missing transformer.h.0.attn.c_attn.bias, (.*, ){6}\S+ and 16 more;"):
        from_pretrained(broken("gpt2", lambda t: {k: v for k, v in t.items() if ".h." not in k}))


def test_wrong_shapes_are_listed(broken):
    folder = broken("gpt2", lambda t: t | {"transformer.wpe.weight": torch.ones(9, 12)})
    with pytest.raises(
        ValueError, match=r"got transformer.wpe.weight \(9, 12\) instead of \(23, 12\); the folder mixes"
    ):
        from_pretrained(folder)


def test_configuration_that_does_not_fit_the_tensors(broken):
    with pytest.raises(ValueError, match=r"got missing transformer.h.2.attn.c_attn.bias,"):
        from_pretrained(broken("gpt2", n_layer=3))


def test_configuration_without_a_size(broken):
    with pytest.raises(ValueError, match=r"config.json of a gpt2 must state n_embd, got one without it; download"):
        from_pretrained(broken("gpt2", n_embd="absent"))


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("gpt2", {"n_layer": "two"}, r"n_layer in config.json must be a whole number from 1 to \d+, got 'two';"),
        ("llama", {"num_attention_heads": 0}, r"num_attention_heads in config.json must be a whole .* got 0;"),
        ("gpt2", {"n_head": -3}, r"n_head in config.json must be a whole number from 1 .*, got -3;"),
        ("bert", {"hidden_act": ["gelu"]}, r"hidden_act in config.json must be a name, got \['gelu'\];"),
        ("llama", {"rope_parameters": 5}, r"rope_parameters in config.json must be an object, got 5;"),
        ("llama", {"tie_word_embeddings": "no"}, r"tie_word_embeddings .* must be true or false, got 'no';"),
        ("bert_classes", {"id2label": ["a", "b"]}, r"id2label .* an object from the numbers 0, .*, got \['a', 'b'\];"),
        ("bert_classes", {"id2label": {"0": "a", "2": "b"}}, r"id2label .* got \{'0': 'a', '2': 'b'\};"),
        ("gpt2", {"n_layer": 10**9}, r"must have its tensors, got 1000000000 layers and a file of 28 tensors;"),
        ("t5", {"num_decoder_layers": 10**9}, r"got 1000000002 layers and a file of \d+ tensors;"),
        ("bert_classes", {"id2label": "absent", "num_labels": 10**9}, r"classifier.weight \(5, 12\) instead of"),
        ("gpt2", {"vocab_size": 10**30}, r"vocab_size in config.json must be .*, got 10{30};"),
        (
            "gpt2",
            {"vocab_size": 2**31 - 1, "n_embd": 2**31 - 1},
            r"must be that of its tensors, got 2147483647 and axes of at most 61;",
        ),
        (
            "llama",
            {"head_dim": 2**31 - 2, "num_attention_heads": 2**31 - 1, "num_key_value_heads": 1},
            r"real model, got",
        ),
        ("roberta", {"pad_token_id": 99}, r"positions must count on from pad_token_id=99, got max_position_emb"),
        ("llama", {"quantization_config": {"quant_method": "gptq"}}, r"got a checkpoint that is quantised \(gptq\);"),
        ("vit", {"patch_size": [4, 2]}, r"patches must be square for Cutaway to load them, got patch_size=\[4, 2\];"),
        ("vit", {"pooler_output_size": 7}, r"pooler_output_size must be 12 for Cutaway to load it, got 7;"),
        ("t5", {"feed_forward_proj": "twice-relu"}, r"feed_forward_proj must be .*, got twice-relu;"),
    ],
)
def test_configuration_with_nonsense(name: str, config: dict, message: str, broken):
    with pytest.raises(ValueError, match=message):
        from_pretrained(broken(name, **config))


HOSTILE = (None, True, 0, -1, 1.5, 2**31 - 1, 10**30, float("nan"), float("inf"), "x", [], ["x"], {}, {"x": 1})


class Recording(dict):
    """A configuration that remembers which of its fields were read."""

    def __init__(self, values: dict) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def get(self, key, default=None):
        self.read.add(key)
        return super().get(key, default)


@pytest.mark.parametrize(
    "name",
    [
        "gpt2_classes",
        "llama_yarn",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("qwen3", "bert_masked", "roberta", "t5_gated", "vit_relu")
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*NaN or infinity")
def test_every_field_may_hold_anything(name: str, checkpoint, tmp_path):
    """Each field that is read, absent or with a hostile value: a model, or one sentence."""
    made = checkpoint(name)
    shutil.copytree(made.folder, tmp_path, dirs_exist_ok=True)
    told = json.loads((made.folder / "config.json").read_text())
    recording = Recording(told)
    find_family(told).spec(recording, set())
    keys = sorted(recording.read | {"model_type"})
    changed = [{key: value for key, value in told.items() if key != left_out} for left_out in keys]
    changed += [told | {key: value} for key in keys for value in HOSTILE]
    inner = [key for key in keys if isinstance(told.get(key), dict)]
    changed += [told | {key: told[key] | {k: v}} for key in inner for k in list(told[key])[:6] for v in HOSTILE]
    messages: list[str] = []
    for config in changed:
        (tmp_path / "config.json").write_text(json.dumps(config))
        try:
            from_pretrained(tmp_path)
        except ValueError as error:
            messages.append(str(error))
    assert 10 < len(messages) < len(changed)
    assert not [message for message in messages if "\n" in message]


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        (
            "gpt2",
            {"architectures": ["GPT2DoubleHeadsModel"]},
            "must be one of GPT2LMHeadModel, .*, got GPT2DoubleHeads",
        ),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "must be False for Cutaway to load it, got True"),
        ("gpt2", {"activation_function": "mish"}, "the activation must be one of gelu, .*, got 'mish'"),
        ("bert", {"is_decoder": True}, "is_decoder must be False"),
        ("qwen2", {"use_sliding_window": True}, "use_sliding_window must be False"),
        ("llama", {"mlp_bias": True}, "mlp_bias must be False"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "longrope"}},
            "rope_type must be one of default, .*, got 'longrope'",
        ),
        (
            "llama",
            {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "mscale": 1.0}},
            "mscale must not be set",
        ),
        ("vit", {"qkv_bias": False}, "qkv_bias must be True"),
        (
            "t5",
            {"architectures": ["T5EncoderModel"]},
            "must be one of T5ForConditionalGeneration, .*, got T5EncoderModel",
        ),
        ("llama", {"model_type": "mamba"}, "model_type must be one of gpt2, llama, .*, got 'mamba'"),
    ],
)
def test_what_we_do_not_have_is_refused(name: str, config: dict, message: str, broken):
    with pytest.raises(ValueError, match=message):
        from_pretrained(broken(name, **config))


def test_older_spelling_of_rotary_settings(broken, checkpoint):
    """rope_theta and rope_scaling, as before transformers 5."""
    old = {"rope_parameters": "absent", "rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    assert (
        from_pretrained(broken("llama_linear", **old)).spec == from_pretrained(checkpoint("llama_linear").folder).spec
    )


def test_a_changed_model_is_not_saved(tmp_path):
    model = GPT(vocabulary=11, width=6, depth=1, heads=3, context=7)
    model.extra = torch.nn.Linear(2, 2)
    with pytest.raises(
        ValueError, match=r"tensors of its spec to be saved, got surplus extra.bias, extra.weight; merge"
    ):
        save_pretrained(model, tmp_path)
    del model.extra
    model.norm = torch.nn.Identity()
    with pytest.raises(ValueError, match=r"got missing norm.bias, norm.weight; merge adapters"):
        save_pretrained(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_fine_tuned_from_a_pretrained_model(checkpoint):
    """BERT's pooler becomes the hidden layer of a new head, as transformers has it."""
    import transformers

    made = checkpoint("bert")
    model = cut.models.with_head(from_pretrained(made.folder), HeadSpec("classes", classes=5))
    assert isinstance(model, BERT)
    peer = transformers.BertForSequenceClassification.from_pretrained(made.folder, num_labels=5).eval()
    peer.classifier.weight.data = model.head.classify.weight.data.T
    peer.classifier.bias.data = model.head.classify.bias.data
    tokens = torch.randint(3, 61, (2, 7))
    torch.testing.assert_close(model(tokens), peer(tokens).logits, rtol=0, atol=1e-6)


def test_a_broken_tokenizer_does_not_stop_the_model(broken):
    folder = broken("gpt2")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.warns(UserWarning, match="the model is loaded without its tokenizer: a tokenizer must be"):
        assert from_pretrained(folder).tokenizer is None


def mixed(tensors: dict) -> dict:
    """Norms in float32, matrices in bfloat16, one in float16."""
    found = {name: x if x.ndim == 1 else x.bfloat16() for name, x in tensors.items()}
    name = next(name for name in found if name.endswith("q_proj.weight"))
    return found | {name: tensors[name].half()}


def test_mixed_kinds_of_numbers_become_one(broken):
    folder = broken("llama", mixed)
    model = from_pretrained(folder)
    assert {p.dtype for p in model.parameters()} == {torch.float32}, "the kind that holds all of them"
    model(torch.tensor([[1, 2, 3]]))
    assert {p.dtype for p in from_pretrained(folder, dtype=torch.float16).parameters()} == {torch.float16}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool, torch.float8_e4m3fn])
def test_weights_that_are_no_floats(dtype: torch.dtype, broken):
    folder = broken("gpt2", lambda t: t | {"transformer.wte.weight": t["transformer.wte.weight"].to(dtype)})
    kind = {torch.int8: "I8", torch.int64: "I64", torch.bool: "BOOL", torch.float8_e4m3fn: "F8_E4M3"}[dtype]
    with pytest.raises(ValueError, match=rf"must be stored as F64, .*, got transformer.wte.weight \({kind}\); if they"):
        from_pretrained(folder)


@pytest.mark.untyped
@pytest.mark.parametrize("dtype", [torch.int8, "float16"])
def test_a_dtype_that_is_none(dtype, checkpoint):
    with pytest.raises(ValueError, match=r"dtype must be a floating-point type or None, got .*; try dtype=torch.fl"):
        from_pretrained(checkpoint("gpt2").folder, dtype=dtype)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_numbers_warn(bad: float, broken):
    def damage(tensors: dict) -> dict:
        tensors["transformer.wpe.weight"][3, 5] = bad
        return tensors

    folder = broken("gpt2", damage)
    with pytest.warns(UserWarning, match=r"finite numbers, got NaN or infinity in transformer.wpe.weight; what"):
        from_pretrained(folder)


def test_no_weight_is_copied(checkpoint):
    """All matrices of a Llama but qkv, whose parts are apart in the file, are mapped; a turned one is a view."""
    model = from_pretrained(checkpoint("llama").folder)
    mapped = Tensors(checkpoint("llama").folder)
    for name, p in model.named_parameters():
        if name.endswith((".out.weight", ".up.weight", ".down.weight")):
            assert p.T.is_contiguous(), name
    assert torch.equal(model.blocks[0].mlp.down.weight.T, mapped["model.layers.0.mlp.down_proj.weight"])


def test_a_mapped_model_can_be_trained_and_copied(broken):
    import copy

    folder = broken("llama")
    file = (folder / "model.safetensors").read_bytes()
    model = from_pretrained(folder)
    again = copy.deepcopy(model)
    model(torch.tensor([[1, 2, 3]])).square().mean().backward()
    torch.optim.AdamW(model.parameters(), lr=0.1).step()
    assert (folder / "model.safetensors").read_bytes() == file
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        assert not torch.equal(p, q)


TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"


@pytest.fixture
def instruct(checkpoint, tmp_path):
    """A tiny instruct checkpoint: a tokenizer with special tokens and a chat template, and two end tokens."""
    from cutaway.data.text.tokenizers import Characters

    folder = tmp_path / "instruct"
    shutil.copytree(checkpoint("llama").folder, folder)
    tokenizer = Characters(map(chr, range(65, 123)), special=["<|im_start|>", "<|im_end|>", "<pad>"])
    tokenizer.settings = {"eos_token": "<|im_end|>", "pad_token": "<pad>", "chat_template": TEMPLATE}
    tokenizer.save(folder)
    tokenizer.save_settings(folder)
    ids = {"bos_token_id": 58, "eos_token_id": 59, "pad_token_id": 60}
    told = json.loads((folder / "config.json").read_text()) | ids
    (folder / "config.json").write_text(json.dumps(told))
    generation = ids | {"eos_token_id": [59, 3], "top_p": 0.9, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def test_all_end_tokens_count(instruct):
    model = from_pretrained(instruct)
    assert model.spec.end == (59, 3)
    logits = torch.full((1, 61), -9.0).scatter(1, torch.tensor([[3]]), 9.0)
    model.read_out = lambda hidden: logits
    assert generate_text(model, "abc", 50, temperature=0) == "", "token 3 ends the text"
    assert generate_text(model, "abc", 4, temperature=0, end=()) == "DDDD"


@pytest.mark.parametrize("content", ["{", "[]", '{"eos_token_id": "x"}'])
def test_a_broken_generation_config_does_not_stop_the_model(content: str, instruct):
    (instruct / "generation_config.json").write_text(content)
    with pytest.warns(UserWarning, match="loaded without its generation_config.json: "):
        assert from_pretrained(instruct).spec.end == (59,)


def test_a_chat_is_encoded_by_its_template(instruct):
    model = from_pretrained(instruct)
    chat = [{"role": "user", "content": "abc"}]
    assert encode_prompt(model.tokenizer, chat) == [58, 32, 33, 34, 59]
    assert encode_prompt(model.tokenizer, "<|im_start|>ab", special=True) == [58, 32, 33]
    same_way = dict(tokens=8, temperature=0, end=())
    text = generate_text(model, chat, **same_way)
    assert text == generate_text(model, model.tokenizer.chat(chat), **same_way)
    assert text == generate_text(model, "<|im_start|>abc<|im_end|>", special=True, **same_way)
    assert generate_text(model, [chat, chat], **same_way) == [text, text]
    assert "".join(stream_text(model, chat, **same_way)) == text


def test_what_a_checkpoint_came_with_is_kept(instruct, tmp_path):
    import transformers

    save_pretrained(from_pretrained(instruct), tmp_path / "back")
    read = lambda folder, name: json.loads((folder / name).read_text())
    for name in ("generation_config.json", "tokenizer_config.json"):
        assert read(tmp_path / "back", name) == read(instruct, name), name
    back = read(tmp_path / "back", "config.json")
    assert (back["bos_token_id"], back["eos_token_id"], back["pad_token_id"]) == (58, [59, 3], 60)
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    chat = [{"role": "user", "content": "abc"}]
    ours = from_pretrained(tmp_path / "back").tokenizer
    assert peer.apply_chat_template(chat, return_dict=False) == ours.encode(ours.chat(chat)).tolist()
    assert (peer.eos_token, peer.pad_token_id) == ("<|im_end|>", 60)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "back")
    assert theirs.generation_config.eos_token_id == [59, 3]


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "roberta", "t5"])
def test_special_ids_are_kept(name: str, broken, tmp_path):
    ids = {"bos_token_id": 5, "eos_token_id": 6, "pad_token_id": 1 if name == "roberta" else 7}
    folder = broken(name, **ids)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_pretrained(from_pretrained(folder), tmp_path / "back")
    told = json.loads((tmp_path / "back" / "config.json").read_text())
    assert {key: told.get(key) for key in ids} == ids
