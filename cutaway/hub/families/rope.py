r"""Rotary positions in configurations: `rope_parameters` of today, `rope_theta` with `rope_scaling` of before."""

from cutaway.hub.families.config_fields import Config, flag, name, number, part, whole
from cutaway.models.specs.architectures import PositionSpec, ScalingSpec

KINDS = ("default", "linear", "dynamic", "llama3", "yarn")


def read_position(config: Config) -> PositionSpec:
    # named in messages as a part of the same file
    given = {"model_type": config.get("model_type")} | (part(config, "rope_parameters") or part(config, "rope_scaling"))
    kind = name(given, "rope_type", name(given, "type", "default"))
    if kind not in KINDS:
        raise ValueError(f"rope_type must be one of {', '.join(KINDS)}, got {kind!r}; others cannot be loaded")
    turned = number(given, "partial_rotary_factor", number(config, "partial_rotary_factor", 1.0))
    if turned != 1:
        raise ValueError(
            f"all of a head must turn in these families, got partial_rotary_factor={turned}; it is another design"
        )
    context = whole(config, "max_position_embeddings")
    return PositionSpec(
        "rotary",
        base=number(given, "rope_theta", number(config, "rope_theta", 10000.0)),
        scaling=None if kind == "default" else _read_scaling(kind, given, context),
    )


def read_context(config: Config) -> int:
    """How many tokens the model reads. Dynamic scaling begins where the stated number ends, so it reads more."""
    scaling = read_position(config).scaling
    context = whole(config, "max_position_embeddings")
    return int(context * scaling.factor) if scaling is not None and scaling.kind == "dynamic" else context


def _read_scaling(kind: str, given: Config, context: int) -> ScalingSpec:
    old, factor = whole(given, "original_max_position_embeddings", context), number(given, "factor")
    if kind == "linear":
        return ScalingSpec("linear", factor)
    if kind == "dynamic":
        return ScalingSpec("dynamic", factor, context)
    if kind == "llama3":
        return ScalingSpec("llama3", factor, old, number(given, "low_freq_factor"), number(given, "high_freq_factor"))
    if given.get("mscale") or given.get("mscale_all_dim"):
        raise ValueError(
            "YaRN's mscale must not be set, got a checkpoint that sets it; give its attention_factor instead"
        )
    return ScalingSpec(
        "yarn",
        factor,
        old,
        slow=number(given, "beta_slow", 1.0),
        fast=number(given, "beta_fast", 32.0),
        attention=None if given.get("attention_factor") is None else number(given, "attention_factor"),
        whole=flag(given, "truncate", True),
    )


def write_position(position: PositionSpec) -> Config:
    rope: Config = {"rope_theta": position.base, "rope_type": "default"}
    if position.share != 1:
        rope["partial_rotary_factor"] = position.share
    s = position.scaling
    if s is not None:
        rope |= {"rope_type": s.kind, "factor": s.factor}
        if s.kind in ("llama3", "yarn"):
            rope["original_max_position_embeddings"] = s.context
        if s.kind == "llama3":
            rope |= {"low_freq_factor": s.slow or 1.0, "high_freq_factor": s.fast or 4.0}
        if s.kind == "yarn":
            rope |= {"beta_slow": s.slow or 1.0, "beta_fast": s.fast or 32.0, "truncate": s.whole}
            if s.attention is not None:
                rope["attention_factor"] = s.attention
    return {"rope_parameters": rope, "rope_theta": position.base}


def write_context(context: int, position: PositionSpec) -> Config:
    dynamic = position.scaling is not None and position.scaling.kind == "dynamic"
    return {"max_position_embeddings": position.scaling.context if dynamic and position.scaling else context}
