r"""Adapters saved alone, in the layout of peft: a small file beside a base model that many share.

    cut.save_adapter(model, "folder")           # peft.PeftModel.from_pretrained(base, "folder") loads it
    cut.load_adapter(model, "folder")           # and we load what peft has written

A folder holds adapter_config.json and adapter_model.safetensors: the low-rank matrices, and what was trained in full
beside them (a head, biases). The file's metadata carry a digest of the base's weights, which peft ignores: put onto
another base, an adapter would silently compute nonsense.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from cutaway.atomic_files import parse_json, read_json, write_json, writing
from cutaway.blocks.low_rank.dora import DoRA
from cutaway.blocks.low_rank.linear_layers import matrix_of
from cutaway.blocks.low_rank.lora import LoRA
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.hub.adapter_filters import Factors, factors_from_file, factors_in_file, warn_of_peft
from cutaway.hub.adapter_names import AdapterNames, Place
from cutaway.hub.adapter_updates import joined_update, split_update
from cutaway.hub.base_digest import base_digest
from cutaway.hub.bottleneck_files import bottleneck_config, bottleneck_tensors, load_bottlenecks
from cutaway.hub.peft_config import BIASES, CONFIG, PREFIX, WEIGHTS, alpha_of, number_of, read_lora, write_lora
from cutaway.training.tuning.low_rank_layers import insert, kind_name, update_for
from cutaway.training.tuning.named_adapters import AdapterSummary, adapted_modules
from cutaway.training.tuning.records import (
    AdapterRecord,
    expect_adapter,
    expect_new_name,
    expect_unmerged,
    named_parameters,
    unwrapped,
)

_TASKS = {"classes": "SEQ_CLS", "tags": "TOKEN_CLS", "language": "CAUSAL_LM", None: "FEATURE_EXTRACTION"}


def save_adapter(model: nn.Module, folder: str | Path, name: str = "default") -> Path:
    """Writes one adapter of a model, and what is trained in full beside it, in the layout of peft; returns the folder.

    Names are those of transformers where a family of checkpoints has the model, so that peft loads the folder onto the
    same checkpoint; a model of your own keeps its own names.
    """
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
    about = {"adapter": name, "base": base_digest(names, in_full), "trained": in_full}
    folder = Path(folder)
    with writing(folder / WEIGHTS) as file:
        whole = {PREFIX + key: x.detach().cpu().contiguous().clone() for key, x in tensors.items()}
        file.write(_in_order(save(whole, metadata={"format": "pt", "cutaway": json.dumps(about)})))
    write_json(folder / CONFIG, config)
    return folder


def _in_order(file: bytes) -> bytes:
    """A safetensors file with its metadata sorted by name, in the room that they had: the library shuffles them."""
    size = int.from_bytes(file[:8], "little")
    header = parse_json(file[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return file[:8] + text.ljust(size) + file[8 + size :] if len(text) <= size else file


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
    config = write_lora(
        {module: found.rank for module, found in factors.items()},
        {module: found.alpha for module, found in factors.items()},
        some.dropout,
        biases,
        some.rooted,
        isinstance(some, DoRA),
        _is_turned(names, updates),
        sorted(saved),
        _task(model, bool(saved)),
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
        _expect_base(about, names, force)
        return load_bottlenecks(model, name, config, tensors, names)
    read_lora(config)
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
        with safe_open(path, framework="pt") as file:
            tensors = {key.removeprefix(PREFIX): file.get_tensor(key) for key in list(file.keys())}
            about = parse_json((file.metadata() or {}).get("cutaway", "{}"))
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{path} must be a whole safetensors file, got one that does not read ({error})") from None
    return config, tensors, about


def _read_updates(
    config: dict[str, Any], tensors: dict[str, Tensor], names: AdapterNames, about: dict[str, Any]
) -> tuple[list[LowRank], list[Place], dict[str, Tensor]]:
    """The updates and their places, and the tensors that are left."""
    rest = {key.replace(".base_layer.", ".").replace(".modules_to_save.", "."): x for key, x in tensors.items()}
    modules = sorted({key.partition(".lora_")[0] for key in rest if ".lora_" in key})
    if not modules:
        raise ValueError(f"{WEIGHTS} must hold low-rank matrices, got none among {len(rest)} tensors; save it again")
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
                f"{known}, …"
            )
        rooted = bool(config.get("use_rslora"))
        given = Factors(a, b, len(a), alpha_of(config, module))
        a, b, rank, alpha = factors_from_file(given, names.filters_of(place.name), rooted, module)
        if not about:
            warn_of_peft(place.layer.base, module)
        inputs, outputs = matrix_of(place.layer.base)[:, place.columns].shape
        if (a.shape[1], b.shape[0]) != (inputs, outputs) or a.shape[0] != b.shape[1]:
            raise ValueError(
                f"an adapter must fit its model, got A {tuple(a.shape)} and B {tuple(b.shape)} for {module}, "
                f"which is {inputs} → {outputs}; load it onto the model that it was made on"
            )
        magnitude = rest.pop(
            f"{module}.lora_magnitude_vector", rest.pop(f"{module}.lora_magnitude_vector.weight", None)
        )
        kind, dropout = (LowRank if magnitude is None else DoRA), number_of(config, "lora_dropout", 0.0)
        update = update_for(place.target, partial(kind, rank=rank, alpha=alpha, dropout=dropout, rooted=rooted))
        with torch.no_grad():
            update.a.copy_(a.T)
            update.b.copy_(b.T)
            if isinstance(update, DoRA) and magnitude is not None:
                update.magnitude.copy_(magnitude.view(-1))
        updates.append(update)
        places.append(place)
    return updates, places, rest


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
