r"""Which family a checkpoint or a model belongs to.

    family.spec(family.config(spec)) = spec         if the family can hold the design

So a model is saved only in a layout from which the very same model comes back.
"""

from typing import Any, NamedTuple

from cutaway.hub.families.bert import BERT, ROBERTA
from cutaway.hub.families.config_fields import Config
from cutaway.hub.families.gpt2 import GPT2
from cutaway.hub.families.llama import LLAMA
from cutaway.hub.families.shared import Family
from cutaway.hub.families.t5 import T5
from cutaway.hub.families.vit import VIT
from cutaway.hub.tensor_rules import Rules
from cutaway.models.specs.architectures import GPTSpec, ModelSpec, TextSpec

FAMILIES = (GPT2, LLAMA, BERT, ROBERTA, T5, VIT)


class CheckpointLayout(NamedTuple):
    """How a family writes a model: its configuration, how its tensors are made of ours, and names of their modules."""

    config: Config
    rules: Rules
    modules: tuple[tuple[str, str], ...] = ()


def find_family(config: Config) -> Family:
    """The family of a configuration, by its model_type."""
    kind = config.get("model_type")
    for family in FAMILIES:
        if kind in family.types:
            return family
    known = ", ".join(name for family in FAMILIES for name in family.types)
    raise ValueError(f"model_type must be one of {known}, got {kind!r}; other architectures cannot be loaded")


def exported_models() -> list[str]:
    """The names of the models that some family can hold."""
    return sorted({family.design.model for family in FAMILIES})


def layout_of(spec: Any) -> CheckpointLayout:
    """The layout of the first family that can hold a design."""
    if not isinstance(spec, ModelSpec):
        raise ValueError(
            "save_pretrained writes models of Cutaway, got one without a spec; save its state dict instead"
        )
    spec = spec.resolved()
    reasons = []
    for family in FAMILIES:
        if isinstance(spec, family.design):
            layout, reason = try_family(family, spec)
            if layout is not None:
                return layout
            reasons.append(f"{family.name} ({reason})")
    if not reasons:
        known = ", ".join(exported_models())
        raise ValueError(f"save_pretrained writes {known}, got a {spec.model}; save its spec and state dict instead")
    raise ValueError(
        f"a design must fit a family of checkpoints to be saved, got one that fits none of {', '.join(reasons)}; "
        "save its spec and state dict instead"
    )


def body_layout_of(spec: Any) -> CheckpointLayout | None:
    """The layout of a model of text without its head for labels, if some family holds that, but none holds both."""
    if not isinstance(spec, TextSpec) or spec.head is None or spec.head.kind not in ("classes", "tags"):
        return None
    spec = spec.resolved()
    fitting = [family for family in FAMILIES if isinstance(spec, family.design)]
    if any(try_family(family, spec)[0] is not None for family in fitting):
        return None
    found = [try_family(family, spec.but(head=None))[0] for family in fitting]
    return next((layout for layout in found if layout is not None), None)


def try_family(family: Family, spec: ModelSpec) -> tuple[CheckpointLayout | None, str]:
    """The layout, or why there is none."""
    try:
        config = family.config(spec)
        if config["model_type"] not in family.types:
            return None, f"that is a {config['model_type']}"
        headless = config["architectures"][0].endswith("Model") and spec.head is None
        rules = family.rules(spec, "" if headless else family.prefix)
        back = family.spec(config, {name for rule in rules.values() for name in rule.theirs})
    except ValueError as error:
        return None, str(error)
    differences = compare(canonical(spec), canonical(back.resolved()))
    if differences:
        return None, "no room for " + ", ".join(differences)
    return CheckpointLayout(config, rules, family.modules), ""


def canonical(spec: ModelSpec) -> ModelSpec:
    """Without what does not change the hidden states and logits: dropout, checkpointing, a default spelled out."""
    spec = spec.but(dropout=0.0, attention__dropout=0.0, mlp__dropout=0.0, checkpointing=False)
    if isinstance(spec, TextSpec):
        spec = spec.but(sentence=None)  # which has files of its own
    if spec.head is not None and spec.head.pooling == ("last" if isinstance(spec, GPTSpec) else "cls"):
        spec = spec.but(head__pooling=None)
    return spec


def compare(spec: Any, back: Any, name: str = "") -> list[str]:
    """The fields of a spec that came back otherwise."""
    mine, other = (value.to_dict() if isinstance(value, ModelSpec) else value for value in (spec, back))
    if isinstance(mine, dict) and isinstance(other, dict):
        return [found for key in mine for found in compare(mine[key], other[key], f"{name}.{key}".lstrip("."))]
    return [] if mine == other else [f"{name}={mine!r}"]
