r"""Weights of torch.nn.RNN, LSTM and GRU, in and out.

    weight_ih_l0 = Wᵀ,  weight_hh_l0 = Uᵀ,  bias_ih_l0 + bias_hh_l0 = b          _reverse: the way back

PyTorch has two biases that only ever add up, except in the candidate of a GRU, where the second is our b′. So its two
become one on the way in; on the way out the second is 0. PyTorch documentation, torch.nn.LSTM (2024).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.blocks.recurrence.cells import Cell


def torch_names(layers: nn.ModuleList) -> Iterator[tuple[Cell, str]]:
    """Every cell with the ending of its names in torch.nn: l0, l0_reverse, l1, …"""
    for i, directions in enumerate(layers):
        for name, cell in directions.items():  # type: ignore[operator]
            yield cell, f"l{i}_reverse" if name == "backwards" else f"l{i}"


def load_torch_weights(layers: nn.ModuleList, weights: Mapping[str, Tensor]) -> None:
    """Copies a state dict of torch.nn into the cells."""
    cells = list(torch_names(layers))
    needed = {f"weight_{kind}_{end}" for _, end in cells for kind in ("ih", "hh")}
    known = needed | {f"bias_{kind}_{end}" for _, end in cells for kind in ("ih", "hh")}
    if needed - set(weights) or set(weights) - known:
        wrong = ", ".join(sorted(needed - set(weights) or set(weights) - known))
        raise ValueError(
            f"the weights of torch.nn must be those of {len(layers)} layers in as many directions, got "
            f"{'none for' if needed - set(weights) else 'also'} {wrong}; build the layer with the same depth and "
            "bidirectional, and without projections"
        )
    with torch.no_grad():
        for cell, end in cells:
            _fill(cell.map_input.weight, weights[f"weight_ih_{end}"].T, f"weight_ih_{end}")
            _fill(cell.map_hidden.weight, weights[f"weight_hh_{end}"].T, f"weight_hh_{end}")
            zeros = torch.zeros(cell.gates * cell.width)
            first, second = (weights.get(f"bias_{kind}_{end}", zeros) for kind in ("ih", "hh"))
            if (own := getattr(cell, "candidate_bias", None)) is not None:
                own.copy_(second[-cell.width :])
                second = torch.cat([second[: -cell.width], torch.zeros_like(second[-cell.width :])])
            assert cell.map_input.bias is not None
            _fill(cell.map_input.bias, first + second, f"bias_ih_{end}")


def torch_weights(layers: nn.ModuleList) -> dict[str, Tensor]:
    """A state dict for torch.nn, of copies."""
    found: dict[str, Tensor] = {}
    for cell, end in torch_names(layers):
        if getattr(cell, "peepholes", None) is not None or getattr(cell, "coupled", False):
            raise ValueError("torch.nn has no peepholes and no coupled gates, got an LSTM with them; save it as it is")
        assert cell.map_input.bias is not None
        second = torch.zeros_like(cell.map_input.bias)
        if (own := getattr(cell, "candidate_bias", None)) is not None:
            second = torch.cat([second[: -cell.width], own.detach()])
        found[f"weight_ih_{end}"] = cell.map_input.weight.detach().T.clone()
        found[f"weight_hh_{end}"] = cell.map_hidden.weight.detach().T.clone()
        found[f"bias_ih_{end}"] = cell.map_input.bias.detach().clone()
        found[f"bias_hh_{end}"] = second.detach().clone()
    return found


def sizes_of_torch(module: Any) -> dict[str, Any]:
    """The arguments of ours for a module of torch.nn."""
    if getattr(module, "proj_size", 0):
        raise ValueError(f"projections have no place here, got proj_size={module.proj_size}; use one without")
    return {
        "inputs": module.input_size,
        "width": module.hidden_size,
        "depth": module.num_layers,
        "bidirectional": module.bidirectional,
        "dropout": module.dropout,
    }


def _fill(parameter: Tensor, value: Tensor, name: str) -> None:
    if parameter.shape != value.shape:
        raise ValueError(
            f"{name} must have shape {tuple(parameter.T.shape)}, got {tuple(value.T.shape)}; "
            "build the layer with the same inputs and width"
        )
    parameter.copy_(value)
