r"""Real checkpoints in and out: a Hugging Face folder becomes a Cutaway model with the same logits, and back.

model = cut.from_pretrained("folder or hub id")
cut.save_pretrained(model, "folder")                # transformers loads it
"""

import re
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from cutaway.atomic_files import write_json, writing
from cutaway.hub.checkpoint_files import SINGLE, Tensors, locate, read_config
from cutaway.hub.families.shared import Family
from cutaway.hub.family_choice import find_family, layout_of
from cutaway.hub.tensor_rules import Rules
from cutaway.hub.tokenizers import find_tokenizer
from cutaway.models import Model, from_spec


def from_pretrained(source: str | Path, dtype: torch.dtype | None = None) -> Model:
    """A Cutaway model from a checkpoint in the Hugging Face layout, in evaluation mode.

    ``source`` is a folder or a hub id; ``dtype`` converts the weights (default: as stored). Tensors that are missing,
    surplus or of another shape are an error that lists them. ``model.tokenizer`` is what came with it, or None.
    """
    folder = locate(source)
    config = read_config(folder)
    family = find_family(config)
    tensors = Tensors(folder)
    names = set(tensors.stored)
    try:
        spec = family.spec(config, names)
    except KeyError as error:
        raise ValueError(
            f"config.json of a {config['model_type']} must state {error.args[0]}, got {folder} without it; "
            "download it again"
        ) from None
    with torch.device("meta"):
        model = from_spec(spec)
    prefix = family.prefix if any(name.startswith(family.prefix) for name in names) else ""
    rules = family.rules(spec, prefix)
    expect_tensors(family, rules, names)
    expect_shapes(rules, dict(model.state_dict()), {name: at.shape for name, at in tensors.stored.items()})
    ours = {name: rule.load({part: tensors[part] for part in rule.theirs}) for name, rule in rules.items()}
    model.load_state_dict({name: x if dtype is None else x.to(dtype) for name, x in ours.items()}, assign=True)
    try:
        model.tokenizer = find_tokenizer(folder)
    except ValueError as error:  # the model is as good without
        warnings.warn(f"the model is loaded without its tokenizer: {error}", stacklevel=2)
    return model.eval()


def save_pretrained(model: nn.Module, folder: str | Path) -> Path:
    """Writes config.json, model.safetensors and tokenizer.json, if there is one, so that transformers loads the model.

    Returns the folder. A design that no family of checkpoints can hold is refused, with what it is that none can hold.
    """
    layout = layout_of(getattr(model, "spec", None))
    state = dict(model.state_dict())
    expect_own_tensors(layout.rules, state)
    tensors = {name: x for ours, rule in layout.rules.items() for name, x in rule.save(state[ours].cpu()).items()}
    folder = Path(folder)
    # Written beside and renamed: the model may still be reading the file that is replaced.
    with writing(folder / SINGLE) as file:
        save_file(tensors, file.name, metadata={"format": "pt"})
    dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    write_json(folder / "config.json", layout.config | {"dtype": dtype})
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.save(folder / "tokenizer.json")
    return folder


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
    wrong = [f"{name} {there[name]} instead of {shape}" for name, shape in want.items() if there[name] != shape]
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
