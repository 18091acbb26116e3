r"""ViT (Dosovitskiy et al. 2021). Its map of patches is stored as the filters of a convolution."""

from cutaway.hub.families.config_fields import Config, name, number, share, side_lengths, whole
from cutaway.hub.families.shared import Family, activation, class_head, label_config, refuse, written
from cutaway.hub.tensor_rules import Rule, Rules, linear, norm, qkv, same
from cutaway.models.specs.architectures import AttentionSpec, MLPSpec, NormSpec, PositionSpec, ViTSpec


def read_spec(config: Config, tensors: set[str]) -> ViTSpec:
    width, (patch, patch_width) = whole(config, "hidden_size"), side_lengths(config, "patch_size")
    refuse(config, qkv_bias=True, pooler_output_size=width)
    if patch != patch_width:
        raise ValueError(
            f"patches must be square for Cutaway to load them, got patch_size={config['patch_size']}; "
            "it has no such option"
        )
    classes = VIT.architecture(config) == "ViTForImageClassification"
    return ViTSpec(
        image=side_lengths(config, "image_size"),
        patch=patch,
        channels=whole(config, "num_channels", 3),
        pooler=any("pooler.dense" in tensor for tensor in tensors),
        pooler_activation=activation(name(config, "pooler_act", "tanh")),
        width=width,
        depth=whole(config, "num_hidden_layers"),
        attention=AttentionSpec(
            heads=whole(config, "num_attention_heads"), dropout=share(config, "attention_probs_dropout_prob")
        ),
        mlp=MLPSpec(whole(config, "intermediate_size"), activation(name(config, "hidden_act", "gelu"))),
        norm=NormSpec("layer", number(config, "layer_norm_eps", 1e-12)),
        position=PositionSpec("learned"),
        head=class_head("classes", config) if classes else None,
        dropout=share(config, "hidden_dropout_prob"),
    )


def write_config(spec: ViTSpec) -> Config:
    return {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification" if spec.head else "ViTModel"],
        "image_size": spec.image[0] if spec.image[0] == spec.image[1] else list(spec.image),
        "patch_size": spec.patch,
        "num_channels": spec.channels,
        "hidden_size": spec.width,
        "num_hidden_layers": spec.depth,
        "num_attention_heads": spec.attention.heads,
        "intermediate_size": spec.mlp.hidden,
        "hidden_act": written(spec.mlp.activation),
        "layer_norm_eps": spec.norm.epsilon,
        "attention_probs_dropout_prob": spec.attention.dropout,
        "hidden_dropout_prob": spec.dropout,
        "qkv_bias": True,
        "pooler_act": written(spec.pooler_activation),
        **label_config(spec.head),
    }


def rules(spec: ViTSpec, prefix: str) -> Rules:
    patches = (spec.image[0] // spec.patch) * (spec.image[1] // spec.patch)
    filters = (spec.width, spec.channels, spec.patch, spec.patch)
    start = f"{prefix}embeddings"
    found: Rules = {
        "cls": same(f"{start}.cls_token"),
        "position.weight": Rule((f"{start}.position_embeddings",), shape=(1, patches + 1, spec.width)),
        "patches.map.weight": Rule((f"{start}.patch_embeddings.projection.weight",), turned=True, shape=filters),
        "patches.map.bias": same(f"{start}.patch_embeddings.projection.bias"),
        **norm("norm", f"{prefix}layernorm"),
    }
    for i in range(spec.depth):
        ours, theirs = f"blocks.{i}", f"{prefix}encoder.layer.{i}"
        parts = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        found |= qkv(f"{ours}.attention.qkv", parts, [spec.width] * 3)
        found |= linear(f"{ours}.attention.out", f"{theirs}.attention.output.dense")
        found |= norm(f"{ours}.norm_attention", f"{theirs}.layernorm_before")
        found |= linear(f"{ours}.mlp.up", f"{theirs}.intermediate.dense")
        found |= linear(f"{ours}.mlp.down", f"{theirs}.output.dense")
        found |= norm(f"{ours}.norm_mlp", f"{theirs}.layernorm_after")
    if spec.pooler:
        found |= linear("pooler.linear", f"{prefix}pooler.dense")
    if spec.head is not None:
        found |= linear("head.classify", "classifier")
    return found


VIT = Family(
    name="vit",
    types=("vit",),
    architectures=("ViTForImageClassification", "ViTModel"),
    prefix="vit.",
    design=ViTSpec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    modules=(
        (r"encoder\.layer\.(\d+)\.attention\.attention\.(query|key|value)", r"layers.\1.attention.\2"),
        (r"attention\.query", "attention.q_proj"),
        (r"attention\.key", "attention.k_proj"),
        (r"attention\.value", "attention.v_proj"),
        (r"encoder\.layer\.(\d+)\.attention\.output\.dense", r"layers.\1.attention.o_proj"),
        (r"encoder\.layer\.(\d+)\.intermediate\.dense", r"layers.\1.mlp.fc1"),
        (r"encoder\.layer\.(\d+)\.output\.dense", r"layers.\1.mlp.fc2"),
        (r"encoder\.layer\.", "layers."),
    ),
)
