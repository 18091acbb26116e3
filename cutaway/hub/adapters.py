r"""Adapters saved alone, in the layout of peft: a small file beside a base model that many share.

    cut.save_adapter(model, "folder")           # peft.PeftModel.from_pretrained(base, "folder") loads it
    cut.load_adapter(model, "folder")           # and we load what peft has written

A folder holds adapter_config.json and adapter_model.safetensors: the low-rank matrices, and what was trained in full
beside them (a head, biases). The file's metadata, which peft ignores, carry its checksum, the settings that decide
what the adapter computes, and a digest of the base's weights: put onto another base, or damaged, an adapter would
silently compute nonsense. Files without them, as peft writes, are read all the same.
"""

import json
import warnings
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from cutaway.atomic_files import make_folder, parse_json, read_json, write_json
from cutaway.blocks.low_rank.dora import DoRA
from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.blocks.low_rank.lora import LoRA
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.hub.adapter_filters import Factors, factors_from_file, factors_in_file, warn_of_peft
from cutaway.hub.adapter_names import AdapterNames, Place
from cutaway.hub.adapter_starts import doubled_alpha, expect_known_start, taken_off
from cutaway.hub.adapter_updates import joined_update, narrowed, split_update, update_like
from cutaway.hub.base_digest import base_digest
from cutaway.hub.bottleneck_files import bottleneck_config, bottleneck_tensors, load_bottlenecks
from cutaway.hub.family_choice import body_layout_of
from cutaway.hub.head_files import README, write_head
from cutaway.hub.head_files import TENSORS as HEAD
from cutaway.hub.peft_config import BIASES, CONFIG, PREFIX, WEIGHTS, alpha_of, number_of, read_lora, write_lora
from cutaway.training.adapters.low_rank_layers import insert, kind_name, update_for
from cutaway.training.adapters.named_adapters import AdapterSummary, adapted_modules
from cutaway.training.adapters.records import (
    AdapterRecord,
    expect_adapter,
    expect_new_name,
    expect_unmerged,
    named_parameters,
    unwrapped,
)
from cutaway.training.run_folder.weights import find_weights_damage, write_tensors

_FREE = ("base_model_name_or_path", "revision", "inference_mode", "task_type", "cutaway")
_TASKS = {"classes": "SEQ_CLS", "tags": "TOKEN_CLS", "language": "CAUSAL_LM", None: "FEATURE_EXTRACTION"}


def save_adapter(model: nn.Module, folder: str | Path, name: str = "default") -> Path:
    """Writes one adapter of a model, and what is trained in full beside it, in the layout of peft; returns the folder.

    Names are those of transformers where a family of checkpoints has the model, so that peft loads the folder onto the
    same checkpoint; a model of your own keeps its own names. A head that no class of transformers has, as one that
    reads the mean of a text, is written beside it too, with the lines that use it with peft in a README.md; a warning
    says so, as peft itself passes over it in silence.
    """
    folder = write_adapter(model, folder, name)
    if (folder / HEAD).is_file():
        warnings.warn(head_note(folder), stacklevel=2)
    return folder


def head_note(folder: Path) -> str:
    """What becomes of a head that no class of transformers has."""
    return (
        f"peft loads the updates of this adapter without its head, which no class of transformers has; the head is in "
        f"{folder / HEAD}, and {folder / README} has the lines that use both (cut.load_adapter loads both)"
    )


def write_adapter(model: nn.Module, folder: str | Path, name: str = "default") -> Path:
    """Writes an adapter as `save_adapter` does, without a word."""
    model = unwrapped(model)
    expect_unmerged(model)
    record = expect_adapter(model, name)
    names = AdapterNames(model)
    trained = _trained_values(record, names)
    if record.kind == "adapter":
        tensors, config = bottleneck_tensors(model, name), bottleneck_config(model, name, sorted(trained))
        for path, value in trained.items():
            tensors |= names.tensors_of(path, value)
    else:
        tensors, config = _lora_files(model, record, names, trained)
    in_full = sorted(key for path in trained for key in names.tensors_of(path))
    about = {"adapter": name, "base": base_digest(names, in_full), "trained": in_full, "config": _decisive(config)}
    folder = Path(folder)
    make_folder(folder)
    whole = {PREFIX + key: x.detach() for key, x in tensors.items()}
    write_tensors(folder / WEIGHTS, whole, {"cutaway": json.dumps(about)})
    write_json(folder / CONFIG, config)
    if _has_head_apart(model, trained):
        write_head(folder, model, of_adapter=True)
    return folder


def _has_head_apart(model: Any, trained: Collection[str]) -> bool:
    """Whether a head was trained beside an adapter that no class of transformers has room for."""
    has_head = any(path.split(".")[0] == "head" for path in trained)
    return has_head and body_layout_of(getattr(model, "spec", None)) is not None


def _decisive(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that decide what an adapter computes; others may be edited, as where its base is."""
    return {name: value for name, value in config.items() if name not in _FREE and value is not None}


def _trained_values(record: AdapterRecord, names: AdapterNames) -> dict[str, Tensor]:
    """What is trained in full beside an adapter, whether it is in use or not."""
    here = {path: names.parameters[path].detach() for path in record.other_values}
    return here if record.in_use else dict(record.other_values)


def _lora_files(
    model: nn.Module, record: AdapterRecord, names: AdapterNames, trained: dict[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the configuration of a LoRA or DoRA."""
    updates = _updates_by_module(model, record.name, names)
    tensors: dict[str, Tensor] = {}
    factors: dict[str, Factors] = {}
    for module, update in updates.items():
        filters = names.filters_of(module)
        factors[module] = factors_in_file(update, filters)
        tensors[f"{module}.lora_A.weight"], tensors[f"{module}.lora_B.weight"] = factors[module][:2]
        if isinstance(update, DoRA):
            lengths = update.magnitude
            tensors[f"{module}.lora_magnitude_vector"] = (
                lengths.view(1, -1, *filters.points) if filters.shape else lengths
            )
        if (place := names.find(module)) is not None:
            warn_of_peft(place.layer.base, module)
    biases = str(record.settings["biases"])
    saved: set[str] = set()
    for path, value in trained.items():
        for key, x in names.tensors_of(path, value).items():
            module = key.rpartition(".")[0]
            if biases != "none" and key.endswith(".bias"):
                tensors[f"{module}.base_layer.bias" if module in updates else key] = x
            else:
                saved.add(module)
                tensors[key] = x
    for path in names.parameters:  # peft saves modules whole: also what of them is not trained
        for key, x in names.tensors_of(path).items() if saved and ".lora." not in path else ():
            if key.rpartition(".")[0] in saved:
                tensors.setdefault(key, x)
    some = next(iter(updates.values()))
    apart = _has_head_apart(model, trained)
    in_config = sorted(module for module in saved if not (apart and module.split(".")[0] == "head"))
    config = write_lora(
        {module: found.rank for module, found in factors.items()},
        {module: found.alpha for module, found in factors.items()},
        some.dropout,
        biases,
        some.rooted,
        isinstance(some, DoRA),
        _is_turned(names, updates),
        in_config,
        _TASKS[None] if apart else _task(model, bool(saved)),
    )
    return tensors, config


def _updates_by_module(model: nn.Module, name: str, names: AdapterNames) -> dict[str, LowRank]:
    """The updates of an adapter by the modules of the file: split or joined where those cut a matrix otherwise."""
    found: dict[str, LowRank] = {}
    paths = {id(layer.module): path for path, layer in names.layers.items()}
    for layer in adapted_modules(model):
        if not isinstance(layer, LoRA) or name not in layer.held:
            continue
        updates = layer.updates(name)
        places = names.in_file[paths[id(layer)]]
        whole = {place.name: place for place in names.known.values() if place.layer.module is layer}
        if not names.rules:  # names of our own, which parts have too
            found |= {place.name: updates[place.part] for place in whole.values() if place.part in updates}
        elif len(places) == 1:
            found[places[0].name] = joined_update(layer, updates)
        else:
            found |= {place.name: update for place in places if (update := split_update(updates, place)) is not None}
    return found


def _is_turned(names: AdapterNames, updates: dict[str, LowRank]) -> bool:
    """Whether their layers hold W as (inputs, outputs), as transformers' Conv1D does."""
    places = [place for module in updates if (place := names.find(module)) is not None]
    rules = [names.rules.get(f"{place.layer.path}.weight") for place in places]
    if any(rule is not None for rule in rules):
        return any(rule is not None and not rule.turned for rule in rules)
    return any(type(place.layer.base).__name__ == "Conv1D" for place in places)


def _task(model: nn.Module, has_head: bool) -> str | None:
    """peft's name for what the model does; for classes it expects the head in the file."""
    spec = getattr(model, "spec", None)
    if spec is None or not hasattr(spec, "head"):
        return None
    kind = None if spec.head is None else spec.head.kind
    if kind == "language" and getattr(model, "input_kind", "") == "text pair":
        return "SEQ_2_SEQ_LM"
    return _TASKS.get(kind) if has_head or kind not in ("classes", "tags") else None


def load_adapter(model: nn.Module, folder: str | Path, name: str | None = None, force: bool = False) -> AdapterSummary:
    """Puts an adapter from a folder onto a model, in use and trainable: one that we or peft have written.

    ``name`` is by default the one that it was saved under. An adapter made on other base weights is refused, unless
    ``force``; one that does not fit the model's shapes always is.
    """
    model = unwrapped(model)
    expect_unmerged(model)
    config, tensors, about = _read(Path(folder))
    name = str(about.get("adapter", "default")) if name is None else name
    expect_new_name(model, name)
    names = AdapterNames(model)
    if config.get("peft_type") == "BOTTLENECK":
        _expect_config((about.get("config") or {}) | config, about, Path(folder))  # what is missing is told below
        _expect_base(about, names, force)
        return load_bottlenecks(model, name, config, tensors, names)
    read_lora(config)
    _expect_config(config, about, Path(folder))
    updates, places, rest = _read_updates(config, tensors, names, about)
    values = _read_trained(rest, names)
    _expect_base(about, names, force)
    biases = next(ours for ours, theirs in BIASES.items() if theirs == config.get("bias", "none"))
    # which biases are trained, the file itself says
    record = AdapterRecord(name, kind_name(updates), {"biases": "none"})
    trained = {path: names.parameters[path] for path in values}
    summary = insert(model, record, [place.target for place in places], updates, trained)
    record.settings["biases"] = biases
    parameters = named_parameters(model)
    with torch.no_grad():
        for path, value in values.items():
            parameters[path].copy_(value)
    return summary


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Any]]:
    """The configuration, the tensors without their prefix, and what we have noted about the base."""
    config = read_json(folder / CONFIG, "peft_type")
    path = folder / WEIGHTS
    if not path.is_file():
        raise ValueError(f"{folder} must hold {WEIGHTS}, got none; save the adapter again, as safetensors")
    try:
        if damage := find_weights_damage(path):  # before anything of it is used; files of others carry no checksum
            raise ValueError(damage)
        with safe_open(path, framework="pt") as file:
            tensors = {key.removeprefix(PREFIX): file.get_tensor(key) for key in list(file.keys())}
            about = parse_json((file.metadata() or {}).get("cutaway", "{}"))
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(
            f"{path} must be a whole safetensors file as it was written, got one that was damaged since ({error}); "
            "take it from a copy"
        ) from None
    if not isinstance(about, dict):
        raise ValueError(f"{path} must say what it is an adapter of, got {str(about)[:40]!r}; take it from a copy")
    return config, tensors, about


def _expect_config(config: dict[str, Any], about: dict[str, Any], folder: Path) -> None:
    for key, value in dict(about.get("config") or {}).items():
        if config.get(key) != value:
            raise ValueError(
                f"{CONFIG} must be as it was when the adapter was written, got {key}={config.get(key)!r} in {folder} "
                f"where it was {value!r}; take both files from one copy"
            )


def _read_updates(
    config: dict[str, Any], tensors: dict[str, Tensor], names: AdapterNames, about: dict[str, Any]
) -> tuple[list[LowRank], list[Place], dict[str, Tensor]]:
    """The updates and their places, and the tensors that are left."""
    rest = {key.replace(".base_layer.", ".").replace(".modules_to_save.", "."): x for key, x in tensors.items()}
    modules = sorted({key.partition(".lora_")[0] for key in rest if ".lora_" in key})
    if not modules:
        raise ValueError(f"{WEIGHTS} must hold low-rank matrices, got none among {len(rest)} tensors; save it again")
    start = expect_known_start(config)
    updates, places = [], []
    for module in modules:
        place = names.find(module)
        a, b = (rest.pop(f"{module}.lora_{letter}.weight", None) for letter in "AB")
        if place is not None and (a is None or b is None):
            raise ValueError(
                f"{WEIGHTS} must hold A and B of every module, got {module} without {'A' if a is None else 'B'}; take "
                "it from a copy"
            )
        if place is None or a is None or b is None:
            known = ", ".join(list(names.known)[:3])
            raise ValueError(
                f"an adapter must be for linear layers or convolutions of the model, got {module}; the model has "
                f"{known}, …; let peft merge updates of others, as of embeddings, into the base (merge_and_unload)"
            )
        rooted = bool(config.get("use_rslora"))
        given = Factors(a, b, len(a), alpha_of(config, module, len(a)))
        a, b, rank, alpha = factors_from_file(given, names.filters_of(place.name), rooted, module)
        if not about:
            warn_of_peft(place.layer.base, module)
        inputs, outputs = matrix_of(place.layer.base)[:, place.columns].shape
        if (a.shape[1], b.shape[0]) != (inputs, outputs) or a.shape[0] != b.shape[1]:
            raise ValueError(
                f"an adapter must fit its model, got A {tuple(a.shape)} and B {tuple(b.shape)} for {module}, "
                f"which is {inputs} → {outputs}; load it onto the model that it was made on"
            )
        a, b, alpha = narrowed(a, b, alpha, rooted)
        rank = len(a)
        magnitude = rest.pop(
            f"{module}.lora_magnitude_vector", rest.pop(f"{module}.lora_magnitude_vector.weight", None)
        )
        kind, dropout = (LowRank if magnitude is None else DoRA), number_of(config, "lora_dropout", 0.0)
        update = update_for(place.target, partial(kind, rank=rank, alpha=alpha, dropout=dropout, rooted=rooted))
        with torch.no_grad():
            update.a.copy_(a.T)
            update.b.copy_(b.T)
            if start:
                update = _without_start(start, update, place, names)
            if isinstance(update, DoRA) and magnitude is not None:
                update.magnitude.copy_(magnitude.view(-1))
        updates.append(update)
        places.append(place)
    return updates, places, rest


def _without_start(start: str, update: LowRank, place: Place, names: AdapterNames) -> LowRank:
    """The update less what was taken off the base when the adapter was made: one of twice the rank."""
    if names.filters_of(place.name).shape:
        raise ValueError(f"init_lora_weights={start!r} is for linear layers, got {place.name}, a convolution")
    weight = matrix_of(place.layer.base)[:, place.columns]
    turned = _is_turned(names, {place.name: update})
    a, b = taken_off(start, weight, update.rank, update.scale, turned, place.name)
    whole = update_like(update, 2 * update.rank, doubled_alpha(update.alpha, update.rooted))
    with torch.no_grad():
        whole.a.copy_(torch.cat([update.a, a.to(update.a)], 1))
        whole.b.copy_(torch.cat([update.b, -b.to(update.b)], 0))
    return whole


def _read_trained(rest: dict[str, Tensor], names: AdapterNames) -> dict[str, Tensor]:
    """The values of what was trained in full, by our parameters."""
    owners = {key: names.owner_of(key) for key in rest}
    if lost := [key for key, path in owners.items() if path is None]:
        raise ValueError(
            f"an adapter must fit its model, got {lost[0]} in the file, which the model has not; "
            "build the model with the same head"
        )
    return {path: names.load(path, rest) for path in dict.fromkeys(owners.values()) if path is not None}


def _expect_base(about: dict[str, Any], names: AdapterNames, force: bool) -> None:
    if force or "base" not in about:
        return
    digest = base_digest(names, about.get("trained", ()))
    if digest != about["base"]:
        raise ValueError(
            f"an adapter belongs to the base that it was trained on (digest {about['base']}), got other weights "
            f"({digest}); load that base, in the same precision, or pass force=True"
        )
