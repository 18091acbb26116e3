r"""GPT-2 (Radford et al. 2019). Its maps are stored (inputs, outputs), as ours are."""

from cutaway.hub.families.config_fields import Config, flag, name, number, share, token, tokens, whole
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
from cutaway.hub.tensor_rules import Rules, linear, norm, same
from cutaway.models.specs.architectures import AttentionSpec, GPTSpec, HeadSpec, MLPSpec, NormSpec, PositionSpec

ARCHITECTURES = {
    "language": "GPT2LMHeadModel",
    None: "GPT2Model",
    "classes": "GPT2ForSequenceClassification",
    "tags": "GPT2ForTokenClassification",
}


def read_spec(config: Config, tensors: set[str]) -> GPTSpec:
    refuse(config, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    kind, width = GPT2.architecture(config), whole(config, "n_embd")
    head = None
    if kind == ARCHITECTURES["language"]:
        head = HeadSpec("language", tied=flag(config, "tie_word_embeddings", True))
    elif kind == ARCHITECTURES["classes"]:
        head = class_head("classes", config, bias=False)
    elif kind == ARCHITECTURES["tags"]:
        head = class_head("tags", config)
    return GPTSpec(
        vocabulary=whole(config, "vocab_size"),
        context=whole(config, "n_positions"),
        end=tokens(config, "eos_token_id"),
        padding=token(config, "pad_token_id"),
        width=width,
        depth=whole(config, "n_layer"),
        attention=AttentionSpec(heads=whole(config, "n_head"), dropout=share(config, "attn_pdrop")),
        mlp=MLPSpec(whole(config, "n_inner", 4 * width), activation(name(config, "activation_function", "gelu_new"))),
        norm=NormSpec("layer", number(config, "layer_norm_epsilon", 1e-5)),
        position=PositionSpec("learned"),
        head=head,
        dropout=share(config, "resid_pdrop"),
    )


def write_config(spec: GPTSpec) -> Config:
    return {
        "model_type": "gpt2",
        "architectures": [ARCHITECTURES[head_kind(spec)]],
        "vocab_size": spec.vocabulary,
        "n_positions": spec.context,
        "n_embd": spec.width,
        "n_layer": spec.depth,
        "n_head": spec.attention.heads,
        "n_inner": spec.mlp.hidden,
        "activation_function": written(spec.mlp.activation),
        "layer_norm_epsilon": spec.norm.epsilon,
        "attn_pdrop": spec.attention.dropout,
        "resid_pdrop": spec.dropout,
        "embd_pdrop": spec.dropout,
        "tie_word_embeddings": spec.head is None or spec.head.tied,
        "bos_token_id": None,
        "pad_token_id": spec.padding,
        **end_config(spec.end),
        **label_config(spec.head),
    }


def rules(spec: GPTSpec, prefix: str) -> Rules:
    found: Rules = {
        "embed.weight": same(f"{prefix}wte.weight"),
        "position.weight": same(f"{prefix}wpe.weight"),
        **norm("norm", f"{prefix}ln_f"),
    }
    names = {
        "attention.qkv": "attn.c_attn",
        "attention.out": "attn.c_proj",
        "mlp.up": "mlp.c_fc",
        "mlp.down": "mlp.c_proj",
    }
    for i in range(spec.depth):
        ours, theirs = f"blocks.{i}", f"{prefix}h.{i}"
        found |= norm(f"{ours}.norm_attention", f"{theirs}.ln_1") | norm(f"{ours}.norm_mlp", f"{theirs}.ln_2")
        for mine, other in names.items():
            for part in ("weight", "bias"):
                found[f"{ours}.{mine}.{part}"] = same(f"{theirs}.{other}.{part}")
    if spec.head is not None:
        if spec.head.kind == "classes":
            found |= linear("head.classify", "score", bias=False)
        elif spec.head.kind == "tags":
            found |= linear("head.classify", "classifier")
        elif not spec.head.tied:
            found |= linear("unembed", "lm_head", bias=False)
    return found


GPT2 = Family(
    name="gpt2",
    types=("gpt2",),
    architectures=tuple(ARCHITECTURES.values()),
    prefix="transformer.",
    design=GPTSpec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    ignored=(r"(.*\.)?attn\.(masked_)?bias", r"lm_head\.weight"),
)
