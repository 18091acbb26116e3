r"""Real checkpoints in and out: a Hugging Face folder becomes a Cutaway model with the same logits, and back.

model = cut.from_pretrained("folder or hub id")
cut.save_pretrained(model, "folder")                # transformers loads it
"""

import re
import warnings
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from cutaway.atomic_files import write_json, writing
from cutaway.hub.checkpoint_files import SINGLE, locate, read_config
from cutaway.hub.empty_models import expect_sizes, without_weights
from cutaway.hub.families.shared import Family
from cutaway.hub.family_choice import body_layout_of, find_family, layout_of
from cutaway.hub.generation_settings import (
    GENERATION,
    generation_to_save,
    read_generation,
    with_all_ends,
    with_special_ids,
)
from cutaway.hub.head_files import expect_head_shapes, read_head, write_head
from cutaway.hub.mapped_tensors import FLOATS, Stored, Tensors
from cutaway.hub.sentence_files import read_sentence, write_sentence
from cutaway.hub.tensor_rules import Rules
from cutaway.hub.tokenizers import find_tokenizer
from cutaway.models import Model, from_spec
from cutaway.models.transformers.sentence_vectors import text_context


def from_pretrained(source: str | Path, dtype: torch.dtype | None = None) -> Model:
    """A Cutaway model from a checkpoint in the Hugging Face layout, in evaluation mode.

    ``source`` is a folder or a hub id. ``dtype`` converts the weights; by default they stay as stored, and if the file
    mixes several kinds of numbers, all become the kind that holds each of them without loss. Tensors that are missing,
    surplus or of another shape are an error that lists them; NaN or infinite weights are a warning.
    ``model.tokenizer`` is what came with it, or None. Files of sentence-transformers say how ``model.embed(texts)``
    makes a vector of a text. A head that `save_pretrained` wrote beside its body is put onto it again.

    The weights are mapped from the file, which must stay as it is while the model is in use.
    """
    expect_float_type(dtype)
    folder = locate(source)
    config = read_config(folder)
    family = find_family(config)
    expect_plain_weights(config)
    tensors = Tensors(folder)
    names = set(tensors.stored)
    generation = read_generation(folder, config)
    spec = with_all_ends(family.spec(config, names), generation)
    expect_sizes(spec, [at.shape for at in tensors.stored.values()])
    prefix = family.prefix if any(name.startswith(family.prefix) for name in names) else ""
    rules = family.rules(spec, prefix)
    expect_tensors(family, rules, names)
    used = {name: tensors.stored[name] for rule in rules.values() for name in rule.theirs}
    expect_floats(used)
    layers: dict[str, Tensor] = {}
    if hasattr(spec, "sentence"):
        sentence, layers = read_sentence(folder)
        spec = spec.but(sentence=sentence)
    head = read_head(folder) if spec.head is None else None
    if head is not None:
        spec, layers = spec.but(head=head[0]), layers | head[1]
    with without_weights():
        model: Any = from_spec(spec)
    if head is not None:
        expect_head_shapes(model, head[1], folder)
        model.head.context = head[2]
    expect_shapes(rules, dict(model.state_dict()), {name: at.shape for name, at in used.items()})
    dtype = dtype or reduce(torch.promote_types, (at.dtype for at in used.values()))
    state = {name: rule.load(tensors.take) for name, rule in rules.items()} | layers
    model.load_state_dict({name: x.to(dtype) for name, x in state.items()}, assign=True)
    model.generation_config = generation
    warn_of_broken_numbers([name for name in used if not tensors.is_finite(name)])
    try:
        model.tokenizer = find_tokenizer(folder)
    except ValueError as error:  # the model is as good without
        warnings.warn(f"the model is loaded without its tokenizer: {error}", stacklevel=2)
    return model.eval()


def save_pretrained(model: nn.Module, folder: str | Path) -> Path:
    """Writes config.json and model.safetensors, so that transformers loads the model, and what it came with.

    That is generation_config.json, tokenizer.json, and tokenizer_config.json with the roles of special tokens and the
    chat template; where the spec says how a text becomes a vector, also modules.json and what it names, so that
    sentence-transformers makes the same vectors as ``model.embed``. A head for labels that no class of transformers has
    is written beside the body, with the lines that use it in a README.md (hub/head_files.py). Returns the folder. A
    design that no family of checkpoints can hold is refused, with what it is that none can hold.
    """
    spec: Any = getattr(model, "spec", None)
    body = body_layout_of(spec)
    layout = body or layout_of(spec)
    whole = dict(model.state_dict())
    apart = ("sentence_layers.", "head.") if body else ("sentence_layers.",)
    state = {name: x for name, x in whole.items() if not name.startswith(apart)}
    expect_own_tensors(layout.rules, state)
    tensors = {name: x for ours, rule in layout.rules.items() for name, x in rule.save(state[ours].cpu()).items()}
    folder = Path(folder)
    # Written beside and renamed: the model may still be reading the file that is replaced.
    with writing(folder / SINGLE) as file:
        save_file(tensors, file.name, metadata={"format": "pt"})
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    if body:
        write_head(folder, model)
    write_json(folder / "config.json", with_special_ids(layout.config, model) | {"dtype": dtype})
    if generation := generation_to_save(model):
        write_json(folder / GENERATION, generation)
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.save(folder / "tokenizer.json")
        tokenizer.save_settings(folder / "tokenizer_config.json")
    if getattr(spec, "sentence", None) is not None:
        write_sentence(folder, spec.sentence, text_context(model), spec.width, whole)
    return folder


def expect_float_type(dtype: torch.dtype | None) -> None:
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ValueError(f"dtype must be a floating-point type or None, got {dtype!r}; try dtype=torch.float32")


def expect_plain_weights(config: dict[str, Any]) -> None:
    """Quantised weights are numbers of another kind, with scales beside them."""
    if found := config.get("quantization_config"):
        method = found.get("quant_method") if isinstance(found, dict) else found
        raise ValueError(
            f"weights must be plain floating-point numbers, got a checkpoint that is quantised ({method}); "
            "take the checkpoint that it was made from"
        )


def expect_floats(used: dict[str, Stored]) -> None:
    """Weights are real numbers."""
    wrong = [f"{name} ({at.kind})" for name, at in used.items() if at.kind not in FLOATS]
    if wrong:
        raise ValueError(
            f"weights must be stored as {', '.join(FLOATS)}, got {_some(wrong)}; "
            "if they are quantised, take the checkpoint that they were made from"
        )


def warn_of_broken_numbers(names: list[str]) -> None:
    if names:
        warnings.warn(
            f"weights should be finite numbers, got NaN or infinity in {_some(names)}; "
            "what the model computes with them is NaN too: take another checkpoint",
            stacklevel=3,
        )


def expect_tensors(family: Family, rules: Rules, there: set[str]) -> None:
    """Every tensor that the design needs must be there, and no other."""
    needed = {name for rule in rules.values() for name in rule.theirs}
    missing = sorted(needed - there)
    surplus = sorted(
        name for name in there - needed if not any(re.fullmatch(pattern, name) for pattern in family.ignored)
    )
    if missing or surplus:
        raise ValueError(
            f"the tensors must be those that config.json describes, got {_listed(missing, surplus)}; "
            "the folder mixes two models or is incomplete"
        )


def expect_own_tensors(rules: Rules, state: dict[str, Tensor]) -> None:
    """A model that was changed since it was built has tensors that no checkpoint has room for."""
    missing, surplus = sorted(set(rules) - set(state)), sorted(set(state) - set(rules))
    if missing or surplus:
        raise ValueError(
            f"a model must have the tensors of its spec to be saved, got {_listed(missing, surplus)}; "
            "merge adapters into the weights first"
        )


def expect_shapes(rules: Rules, ours: dict[str, Tensor], there: dict[str, tuple[int, ...]]) -> None:
    """Every tensor must have the shape that the design gives it."""
    want = {name: tuple(x.shape) for mine, rule in rules.items() for name, x in rule.save(ours[mine]).items()}
    wrong = [
        f"{name} {there[name]} instead of {shape}" for name, shape in want.items() if there.get(name, shape) != shape
    ]
    if wrong:
        raise ValueError(
            f"shapes must be those that config.json describes, got {_some(wrong)}; the folder mixes two models"
        )


def _listed(missing: list[str], surplus: list[str]) -> str:
    return " and ".join(
        f"{word} {_some(names)}" for word, names in (("missing", missing), ("surplus", surplus)) if names
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


__all__ = ["from_pretrained", "save_pretrained"]
