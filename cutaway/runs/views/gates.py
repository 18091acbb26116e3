r"""Views of recurrent nets: gates and states over a text, what single units follow, how far back the output reaches.

A model says where its recurrent layers are, by the names of its attributes: ``recurrent_layers = ("recurrence",)``;
each of them has ``layers``, and their cells say what values they have (`blocks/recurrence/cells.py`).
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from cutaway.look.pages.picture import Picture
from cutaway.look.recurrence.gate_panels import gate_panels, layer_values
from cutaway.look.recurrence.input_sensitivity import input_sensitivity, sensitivity_bars
from cutaway.look.recurrence.unit_features import mark_features, unit_followers
from cutaway.recipes.subjects import Subject, token_names

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_LAYERS = 3  # of a deep net: the first, the middle and the last
_READ = 3000  # tokens that correlations are taken over


def recurrent_cells(model: nn.Module) -> dict[str, Any]:
    """Every cell of the recurrent layers that a model declares, by its address."""
    found: dict[str, Any] = {}
    for name in getattr(model, "recurrent_layers", ()):
        for i, directions in enumerate(getattr(model, name).layers):
            for direction, cell in directions.items():
                found[f"{name}.layers.{i}.{direction}"] = cell
    return found


def has_gates(run: "Run") -> bool:
    """Runs of recurrent nets that read text."""
    return run.tokenizer is not None and bool(recurrent_cells(run.model))


def gates(run: "Run", subject: Subject) -> list[Picture]:
    """Every gate and state over the text."""
    if not subject.tokens:
        return []
    cells = recurrent_cells(run.model)
    seen = subject.read(run.model, *(f"{address}.{name}" for address, cell in cells.items() for name in cell.names))
    pictures = []
    for address in _spread(list(cells)):
        values = layer_values(seen, address, [*cells[address].names])
        state = "cell" if "cell" in values else "hidden"
        values[state] = values.pop(state)  # the last chooses the units
        if all(value.shape[0] == len(subject.tokens) for value in values.values()):
            pictures.append(gate_panels(values, subject.tokens, title=f"Gates and states over time, {_words(address)}"))
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
    states = {_words(address): seen[address][0] for address in addresses if address in seen}
    return [unit_followers(states, tokens)]


def reach(run: "Run", subject: Subject) -> list[Picture]:
    """How much the last output depends on each token, by gradients."""
    if not subject.tokens or len(subject.tokens) < 2:
        return []
    (name, *_) = run.model.recurrent_layers  # type: ignore[misc]
    sizes, best = input_sensitivity(run.model, subject.arguments[0], f"{name}.input")
    return [sensitivity_bars(sizes, subject.tokens, run.tokenizer.decode([best]))]


def _long_text(run: "Run", subject: Subject) -> tuple[torch.Tensor, tuple[str, ...]] | None:
    """Text that was not trained on, where the data is still there; else the subject's own."""
    from cutaway.recipes.text.text_base import held_out

    try:
        ids = [int(i) for i in held_out(run.recipe.dataset_of(run))[:_READ]]  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        ids = []
    if len(ids) > len(subject.tokens):
        device = next(run.model.parameters()).device
        return torch.tensor([ids], device=device), token_names(run.tokenizer, ids)
    return (subject.arguments[0], subject.tokens) if subject.tokens else None


def _spread(addresses: list[str]) -> list[str]:
    if len(addresses) <= _LAYERS:
        return addresses
    return [addresses[i * (len(addresses) - 1) // (_LAYERS - 1)] for i in range(_LAYERS)]


def _words(address: str) -> str:
    """An address in words: ``recurrence.layers.0.forwards.cell`` is "cell state of layer 0"."""
    _, _, layer, direction, *state = address.split(".")
    way = ", backwards" if direction == "backwards" else ""
    kind = f"{state[0]} state of " if state else ""
    return f"{kind}layer {layer}{way}"
