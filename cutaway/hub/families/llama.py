r"""Llama (Touvron et al. 2023), and Qwen2 and Qwen3 (Yang et al. 2024, 2025) with biases or norms in attention."""

from cutaway.hub.families.config_fields import Config, flag, name, number, share, token, tokens, whole
from cutaway.hub.families.rope import read_context, read_position, write_context, write_position
from cutaway.hub.families.shared import (
    Family,
    activation,
    class_head,
    end_config,
    head_kind,
    label_config,
    refuse,
    written,
)
from cutaway.hub.tensor_rules import Rules, linear, norm, qkv, same
from cutaway.models.specs.architectures import AttentionSpec, GPTSpec, HeadSpec, MLPSpec, NormSpec

NAMES = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}
ENDINGS = {
    "language": "ForCausalLM",
    None: "Model",
    "classes": "ForSequenceClassification",
    "tags": "ForTokenClassification",
}


def read_spec(config: Config, tensors: set[str]) -> GPTSpec:
    refuse(config, use_sliding_window=False, mlp_bias=False)
    kind, heads, width = config["model_type"], whole(config, "num_attention_heads"), whole(config, "hidden_size")
    ending = LLAMA.architecture(config)
    head = None
    if ending.endswith(ENDINGS["language"]):
        head = HeadSpec("language", tied=flag(config, "tie_word_embeddings", False))
    elif ending.endswith(ENDINGS["classes"]):
        head = class_head("classes", config, bias=False)
    elif ending.endswith(ENDINGS["tags"]):
        head = class_head("tags", config)
    return GPTSpec(
        vocabulary=whole(config, "vocab_size"),
        context=read_context(config),
        end=tokens(config, "eos_token_id"),
        padding=token(config, "pad_token_id"),
        width=width,
        depth=whole(config, "num_hidden_layers"),
        attention=AttentionSpec(
            heads=heads,
            kv_heads=whole(config, "num_key_value_heads", heads),
            head_width=whole(config, "head_dim", max(width // heads, 1)),
            bias="qkv" if kind == "qwen2" else flag(config, "attention_bias", False),
            dropout=share(config, "attention_dropout"),
            norm=kind == "qwen3",
        ),
        mlp=MLPSpec(
            whole(config, "intermediate_size"), activation(name(config, "hidden_act", "silu")), gated=True, bias=False
        ),
        norm=NormSpec("rms", number(config, "rms_norm_eps", 1e-6)),
        position=read_position(config),
        head=head,
    )


def write_config(spec: GPTSpec) -> Config:
    kind = "qwen3" if spec.attention.norm else "qwen2" if spec.attention.bias == "qkv" else "llama"
    return {
        "model_type": kind,
        "architectures": [NAMES[kind] + ENDINGS[head_kind(spec)]],
        "vocab_size": spec.vocabulary,
        **write_context(spec.context, spec.position),
        "hidden_size": spec.width,
        "num_hidden_layers": spec.depth,
        "num_attention_heads": spec.attention.heads,
        "num_key_value_heads": spec.attention.kv_heads,
        "head_dim": spec.attention.head_width,
        "attention_bias": spec.attention.bias is True,
        "attention_dropout": spec.attention.dropout,
        "intermediate_size": spec.mlp.hidden,
        "hidden_act": written(spec.mlp.activation),
        "rms_norm_eps": spec.norm.epsilon,
        "tie_word_embeddings": spec.head is not None and spec.head.kind == "language" and spec.head.tied,
        "bos_token_id": None,
        "pad_token_id": spec.padding,
        **end_config(spec.end),
        **write_position(spec.position),
        **label_config(spec.head),
    }


def rules(spec: GPTSpec, prefix: str) -> Rules:
    found: Rules = {
        "embed.weight": same(f"{prefix}embed_tokens.weight"),
        "norm.weight": same(f"{prefix}norm.weight"),
    }
    own, hidden = spec.attention, spec.mlp.hidden
    assert own.head_width is not None
    assert own.kv_heads is not None
    assert hidden is not None
    sizes = [n * own.head_width for n in (own.heads, own.kv_heads, own.kv_heads)]
    for i in range(spec.depth):
        ours, theirs = f"blocks.{i}", f"{prefix}layers.{i}"
        parts = [f"{theirs}.self_attn.{part}_proj" for part in "qkv"]
        found |= qkv(f"{ours}.attention.qkv", parts, sizes, bias=bool(own.bias))
        found |= linear(f"{ours}.attention.out", f"{theirs}.self_attn.o_proj", bias=own.bias is True)
        found |= norm(f"{ours}.norm_attention", f"{theirs}.input_layernorm", bias=False)
        found |= norm(f"{ours}.norm_mlp", f"{theirs}.post_attention_layernorm", bias=False)
        gates = [f"{theirs}.mlp.gate_proj", f"{theirs}.mlp.up_proj"]
        found |= qkv(f"{ours}.mlp.up", gates, [hidden] * 2, bias=False)
        found |= linear(f"{ours}.mlp.down", f"{theirs}.mlp.down_proj", bias=False)
        if own.norm:
            for mine, other in (("query_norm", "q_norm"), ("key_norm", "k_norm")):
                found |= norm(f"{ours}.attention.prepare.{mine}", f"{theirs}.self_attn.{other}", bias=False)
    if spec.head is not None:
        if spec.head.kind != "language":
            found |= linear("head.classify", "score", bias=spec.head.bias)
        elif not spec.head.tied:
            found |= linear("unembed", "lm_head", bias=False)
    return found


LLAMA = Family(
    name="llama",
    types=tuple(NAMES),
    architectures=tuple(name + ending for ending in ENDINGS.values() for name in NAMES.values()),
    prefix="model.",
    design=GPTSpec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    ignored=(r".*rotary_emb\.inv_freq", r"lm_head\.weight"),
)
