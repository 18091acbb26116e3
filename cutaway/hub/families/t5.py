r"""T5 and T5 v1.1 (Raffel et al. 2020)."""

from cutaway.hub.families.config_fields import Config, flag, name, number, share, token, tokens, whole
from cutaway.hub.families.shared import Family, activation, end_config, written
from cutaway.hub.tensor_rules import Rules, linear, norm, qkv, same
from cutaway.models.specs.architectures import AttentionSpec, HeadSpec, MLPSpec, NormSpec, PositionSpec, T5Spec


def read_spec(config: Config, tensors: set[str]) -> T5Spec:
    tied = flag(config, "tie_word_embeddings", True)
    dropout = share(config, "dropout_rate")
    gate, _, plain = name(config, "feed_forward_proj", "relu").rpartition("-")
    if gate not in ("", "gated"):
        raise ValueError(f"feed_forward_proj must be an activation or gated-…, got {gate}-{plain}; Cutaway has no such")
    # "gated-gelu" is the tanh form, as in the first code.
    used = "gelu_new" if gate == "gated" and plain == "gelu" else plain
    depth = whole(config, "num_layers")
    return T5Spec(
        vocabulary=whole(config, "vocab_size"),
        width=whole(config, "d_model"),
        depth=depth,
        decoder_depth=whole(config, "num_decoder_layers", depth),
        attention=AttentionSpec(
            heads=whole(config, "num_heads"), head_width=whole(config, "d_kv"), bias=False, scale=1.0, dropout=dropout
        ),
        mlp=MLPSpec(whole(config, "d_ff"), activation(used), gate == "gated", bias=False, dropout=dropout),
        norm=NormSpec("rms", number(config, "layer_norm_epsilon", 1e-6)),
        position=PositionSpec(
            "relative",
            buckets=whole(config, "relative_attention_num_buckets", 32),
            distance=whole(config, "relative_attention_max_distance", 128),
        ),
        head=None if T5.architecture(config) == "T5Model" else HeadSpec("language", tied=tied),
        dropout=dropout,
        start=token(config, "decoder_start_token_id") or 0,
        end=tokens(config, "eos_token_id"),
        scale_output=flag(config, "scale_decoder_outputs", tied),
    )


def write_config(spec: T5Spec) -> Config:
    gated = spec.mlp.gated and spec.mlp.activation == "gelu_tanh"
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration" if spec.head else "T5Model"],
        "is_encoder_decoder": True,
        "vocab_size": spec.vocabulary,
        "d_model": spec.width,
        "d_kv": spec.attention.head_width,
        "d_ff": spec.mlp.hidden,
        "num_layers": spec.depth,
        "num_decoder_layers": spec.decoder_depth,
        "num_heads": spec.attention.heads,
        "feed_forward_proj": ("gated-" if spec.mlp.gated else "") + ("gelu" if gated else written(spec.mlp.activation)),
        "layer_norm_epsilon": spec.norm.epsilon,
        "dropout_rate": spec.dropout,
        "relative_attention_num_buckets": spec.position.buckets,
        "relative_attention_max_distance": spec.position.distance,
        "tie_word_embeddings": spec.head is None or spec.head.tied,
        "scale_decoder_outputs": spec.scale_output,
        "decoder_start_token_id": spec.start,
        **end_config(spec.end),
    }


def rules(spec: T5Spec, prefix: str) -> Rules:
    found: Rules = {"embed.weight": same("shared.weight")}
    for side, depth in (("encoder", spec.depth), ("decoder", spec.decoder_depth)):
        found[f"{side}_bias.weight"] = same(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        found |= norm(f"{side}_norm", f"{side}.final_layer_norm", bias=False)
        for i in range(depth):
            found |= _layer(spec, f"{side}.{i}", f"{side}.block.{i}.layer", cross=side == "decoder")
    if spec.head is not None and not spec.head.tied:
        found |= linear("unembed", "lm_head", bias=False)
    return found


def _layer(spec: T5Spec, ours: str, theirs: str, cross: bool) -> Rules:
    hidden, last = spec.mlp.hidden, f"{theirs}.2" if cross else f"{theirs}.1"
    assert hidden is not None
    found = _attention(spec, f"{ours}.attention", f"{theirs}.0.SelfAttention")
    found |= norm(f"{ours}.norm_attention", f"{theirs}.0.layer_norm", bias=False)
    if cross:
        found |= _attention(spec, f"{ours}.cross", f"{theirs}.1.EncDecAttention")
        found |= norm(f"{ours}.norm_cross", f"{theirs}.1.layer_norm", bias=False)
    found |= norm(f"{ours}.norm_mlp", f"{last}.layer_norm", bias=False)
    found |= linear(f"{ours}.mlp.down", f"{last}.DenseReluDense.wo", bias=False)
    if spec.mlp.gated:
        gates = [f"{last}.DenseReluDense.wi_0", f"{last}.DenseReluDense.wi_1"]
        return found | qkv(f"{ours}.mlp.up", gates, [hidden] * 2, bias=False)
    return found | linear(f"{ours}.mlp.up", f"{last}.DenseReluDense.wi", bias=False)


def _attention(spec: T5Spec, ours: str, theirs: str) -> Rules:
    assert spec.attention.head_width is not None
    sizes = [spec.attention.heads * spec.attention.head_width] * 3
    found = qkv(f"{ours}.qkv", [f"{theirs}.{part}" for part in "qkv"], sizes, bias=False)
    return found | linear(f"{ours}.out", f"{theirs}.o", bias=False)


T5 = Family(
    name="t5",
    types=("t5",),
    architectures=("T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model"),
    prefix="",
    design=T5Spec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    ignored=(
        r"(en|de)coder\.embed_tokens\.weight",
        r"lm_head\.weight",
        r".*EncDecAttention\.relative_attention_bias\.weight",
    ),
)
