r"""Views of recurrent nets: gates and states over time, what single units follow, how far back the output reaches.

A model says where its recurrent layers are and what their steps are, by names of its attributes and of the subject's:
``recurrent_layers = {"encoder": "tokens", "decoder": "written"}``. Each layer gives its ``cells`` by their addresses,
and these say what values they have (`blocks/recurrence/cells.py`).
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from cutaway.look.pages.picture import Picture
from cutaway.look.recurrence.gate_panels import gate_panels, layer_values
from cutaway.look.recurrence.input_sensitivity import input_sensitivity, sensitivity_bars
from cutaway.look.recurrence.unit_features import mark_features, unit_followers
from cutaway.tasks.subjects import Subject, token_names

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_CELLS = 3  # drawn of one recurrent layer: the first, the middle and the last
_LAYERS = 2  # drawn of many alike
_STEPS = 200
_READ = 3000  # tokens that correlations are taken over


def recurrent_layers(model: nn.Module) -> dict[str, str]:
    """The addresses of the recurrent layers that a model declares, and what of the subject their steps are."""
    declared: Any = getattr(model, "recurrent_layers", {})
    return declared


def recurrent_cells(model: nn.Module, layer: str = "") -> dict[str, Any]:
    """Every cell of the recurrent layers that a model declares, or of one of them, by its address."""
    names = [layer] if layer else [*recurrent_layers(model)]
    layers: dict[str, Any] = {name: model.get_submodule(name) for name in names}
    return {f"{name}.{place}": cell for name, layer in layers.items() for place, cell in layer.cells.items()}


def has_gates(run: "Run") -> bool:
    """Runs of models that declare recurrent layers."""
    return bool(recurrent_cells(run.model))


def continues_text(run: "Run") -> bool:
    """Runs of recurrent nets that predict the next token of a text."""
    return has_gates(run) and run.tokenizer is not None and getattr(run.model, "input_kind", "") == "text"


def only_has_gates(run: "Run") -> bool:
    """Runs of all other models with recurrent layers, whose reports have pictures of their own."""
    return has_gates(run) and not continues_text(run)


def gates(run: "Run", subject: Subject) -> list[Picture]:
    """Every gate and state over time, with what is read beneath."""
    layers = recurrent_layers(run.model)
    pictures = []
    for layer in list(layers)[:_LAYERS]:
        steps = getattr(subject, layers[layer])[:_STEPS]
        cells = recurrent_cells(run.model, layer)
        shown = _spread(list(cells)) if steps else []
        seen = subject.read(run.model, *(f"{address}.{name}" for address in shown for name in cells[address].names))
        for address in shown:
            values = layer_values(seen, address, [*cells[address].names])
            state = "cell" if "cell" in values else "hidden"
            values[state] = values.pop(state)  # the last chooses the units
            values = {name: value[: len(steps)] for name, value in values.items()}
            if values and all(len(value) == len(steps) for value in values.values()):
                where = _words(address.removeprefix(f"{layer}."))
                title = "Gates and states over time" + (f", {layer}" if len(layers) > 1 else "")
                pictures.append(gate_panels(values, steps, title=f"{title}, {where}" if where else title))
    return pictures


def unit_features(run: "Run", subject: Subject) -> list[Picture]:
    """The units that follow quotes, the line, brackets and words."""
    found = _long_text(run, subject)
    if found is None:
        return []
    ids, tokens = found
    if not any(marks.std() > 0 for marks in mark_features(tokens).values()):
        return []
    cells = recurrent_cells(run.model)
    addresses = [f"{address}.{state}" for address, cell in cells.items() for state in cell.kept]
    seen = Subject((ids,)).read(run.model, *addresses)
    states = {_words(address.partition(".")[2]): seen[address][0] for address in addresses if address in seen}
    return [unit_followers(states, tokens)]


def reach(run: "Run", subject: Subject) -> list[Picture]:
    """How much the last output depends on each token, by gradients."""
    if not subject.tokens or len(subject.tokens) < 2:
        return []
    (name, *_) = recurrent_layers(run.model)
    sizes, best = input_sensitivity(run.model, subject.arguments[0], f"{name}.input")
    return [sensitivity_bars(sizes, subject.tokens, run.tokenizer.decode([best]))]


def _long_text(run: "Run", subject: Subject) -> tuple[torch.Tensor, tuple[str, ...]] | None:
    """Text that was not trained on, where the data is still there; else the subject's own."""
    ids: list[int] = []
    if run.recipe.task_kind == "texts/next_token":
        with suppress(OSError, ValueError):  # the text is no longer there, or another one
            ids = [int(i) for i in run.task.held_out[:_READ]]
    if len(ids) > len(subject.tokens):
        device = next(run.model.parameters()).device
        return torch.tensor([ids], device=device), token_names(run.tokenizer, ids)
    return (subject.arguments[0], subject.tokens) if subject.tokens else None


def _spread(addresses: list[str]) -> list[str]:
    if len(addresses) <= _CELLS:
        return addresses
    return [addresses[i * (len(addresses) - 1) // (_CELLS - 1)] for i in range(_CELLS)]


def _words(address: str) -> str:
    """An address inside a recurrent layer in words: ``layers.0.forwards.cell`` is "cell state of layer 0"."""
    if not address.startswith("layers."):
        return ""
    _, layer, direction, *state = address.split(".")
    way = ", backwards" if direction == "backwards" else ""
    kind = f"{state[0]} state of " if state else ""
    return f"{kind}layer {layer}{way}"
