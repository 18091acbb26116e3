r"""BERT (Devlin et al. 2019) and MiniLM, and RoBERTa (Liu et al. 2019), whose positions start behind its padding's."""

from cutaway.hub.families.config_fields import Config, flag, name, number, share, token, whole
from cutaway.hub.families.shared import Family, activation, class_head, head_kind, label_config, refuse, written
from cutaway.hub.tensor_rules import Rule, Rules, linear, norm, qkv, same
from cutaway.models.specs.architectures import AttentionSpec, BERTSpec, HeadSpec, MLPSpec, NormSpec, PositionSpec

ENDINGS = {
    None: "Model",
    "masked": "ForMaskedLM",
    "classes": "ForSequenceClassification",
    "tags": "ForTokenClassification",
}
CLS = ("cls.predictions", "cls.predictions.transform", "LayerNorm")


def read_spec(config: Config, tensors: set[str]) -> BERTSpec:
    refuse(config, position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    roberta = config["model_type"] != "bert"
    ending = (ROBERTA if roberta else BERT).architecture(config)
    padding = token(config, "pad_token_id") if "pad_token_id" in config else 1
    start = (padding or 0) + 1 if roberta else 0
    context = whole(config, "max_position_embeddings") - start
    if context < 1:
        raise ValueError(
            f"positions must count on from pad_token_id={padding}, got max_position_embeddings={context + start}, "
            "which leaves none; download config.json again"
        )
    head = None
    if ending.endswith((ENDINGS["masked"], "ForPreTraining")):
        head = HeadSpec("masked", tied=flag(config, "tie_word_embeddings", True))
    elif ending.endswith(ENDINGS["classes"]):
        head = class_head("classes", config, hidden=True)
    elif ending.endswith(ENDINGS["tags"]):
        head = class_head("tags", config)
    classes = head is not None and head.kind == "classes"
    return BERTSpec(
        vocabulary=whole(config, "vocab_size"),
        context=context,
        segments=whole(config, "type_vocab_size", 2),
        pooler=not classes and any("pooler.dense" in tensor for tensor in tensors),
        position_start=start,
        width=whole(config, "hidden_size"),
        depth=whole(config, "num_hidden_layers"),
        attention=AttentionSpec(
            heads=whole(config, "num_attention_heads"), dropout=share(config, "attention_probs_dropout_prob")
        ),
        mlp=MLPSpec(whole(config, "intermediate_size"), activation(name(config, "hidden_act", "gelu"))),
        norm=NormSpec("layer", number(config, "layer_norm_eps", 1e-12)),
        position=PositionSpec("learned"),
        head=head,
        order="post",
        dropout=share(config, "hidden_dropout_prob"),
    )


def write_config(spec: BERTSpec) -> Config:
    roberta = spec.position_start > 0
    return {
        "model_type": "roberta" if roberta else "bert",
        "architectures": [("Roberta" if roberta else "Bert") + ENDINGS[head_kind(spec)]],
        "vocab_size": spec.vocabulary,
        "max_position_embeddings": spec.context + spec.position_start,
        "type_vocab_size": spec.segments,
        **({"pad_token_id": spec.position_start - 1} if roberta else {}),
        "hidden_size": spec.width,
        "num_hidden_layers": spec.depth,
        "num_attention_heads": spec.attention.heads,
        "intermediate_size": spec.mlp.hidden,
        "hidden_act": written(spec.mlp.activation),
        "layer_norm_eps": spec.norm.epsilon,
        "attention_probs_dropout_prob": spec.attention.dropout,
        "hidden_dropout_prob": spec.dropout,
        "tie_word_embeddings": spec.head is None or spec.head.tied,
        "bos_token_id": None,
        "eos_token_id": None,
        **label_config(spec.head),
    }


def rules(spec: BERTSpec, prefix: str) -> Rules:
    start = f"{prefix}embeddings"
    found: Rules = {
        "embed.weight": same(f"{start}.word_embeddings.weight"),
        "position.weight": same(f"{start}.position_embeddings.weight"),
        "segment.weight": same(f"{start}.token_type_embeddings.weight"),
        **norm("norm", f"{start}.LayerNorm"),
    }
    for i in range(spec.depth):
        ours, theirs = f"blocks.{i}", f"{prefix}encoder.layer.{i}"
        parts = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        found |= qkv(f"{ours}.attention.qkv", parts, [spec.width] * 3)
        found |= linear(f"{ours}.attention.out", f"{theirs}.attention.output.dense")
        found |= norm(f"{ours}.norm_attention", f"{theirs}.attention.output.LayerNorm")
        found |= linear(f"{ours}.mlp.up", f"{theirs}.intermediate.dense")
        found |= linear(f"{ours}.mlp.down", f"{theirs}.output.dense")
        found |= norm(f"{ours}.norm_mlp", f"{theirs}.output.LayerNorm")
    if spec.pooler:
        found |= linear("pooler.linear", f"{prefix}pooler.dense")
    return found | _head_rules(spec, prefix)


def _head_rules(spec: BERTSpec, prefix: str) -> Rules:
    if spec.head is None:
        return {}
    roberta = spec.position_start > 0
    if spec.head.kind == "tags":
        return linear("head.classify", "classifier")
    if spec.head.kind == "classes":
        if roberta:
            return linear("head.hidden.linear", "classifier.dense") | linear("head.classify", "classifier.out_proj")
        return linear("head.hidden.linear", f"{prefix}pooler.dense") | linear("head.classify", "classifier")
    root, inner, last = ("lm_head", "lm_head", "layer_norm") if roberta else CLS
    found = linear("head.transform.linear", f"{inner}.dense") | norm("head.norm", f"{inner}.{last}")
    if spec.head.tied:
        return found | {"head.bias": same(f"{root}.bias")}
    # Untied, the decoder's own bias is used, and the other one is only there.
    bias = Rule((f"{root}.decoder.bias",), copies=(f"{root}.bias",))
    return found | linear("head.unembed", f"{root}.decoder", bias=False) | {"head.bias": bias}


BERT = Family(
    name="bert",
    types=("bert",),
    architectures=(*(f"Bert{ending}" for ending in ENDINGS.values()), "BertForPreTraining"),
    prefix="bert.",
    design=BERTSpec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    ignored=(r".*position_ids", r"cls\.predictions\.(decoder\.(weight|bias)|bias)", r"cls\.seq_relationship\..*"),
)
ROBERTA = Family(
    name="roberta",
    types=("roberta", "xlm-roberta"),
    architectures=tuple(f"{name}{ending}" for name in ("Roberta", "XLMRoberta") for ending in ENDINGS.values()),
    prefix="roberta.",
    design=BERTSpec,
    spec=read_spec,
    config=write_config,
    rules=rules,
    # A pooler beside a head for classes is none that the head uses.
    ignored=(r".*position_ids", r"lm_head\.(decoder\.(weight|bias)|bias)", r"roberta\.pooler\.dense\.(weight|bias)"),
)
