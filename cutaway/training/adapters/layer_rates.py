r"""Layer-wise learning rates: the deeper a layer, the closer to the output, the faster it learns.

    rate_i = rate · d^(L − i)       embeddings i = 0, the k-th layer i = k, head and last norm i = L = depth + 1

Lower layers know what is general, and move least. Clark et al. 2020 (ELECTRA, d = 0.8), Bao et al. 2022 (BEiT);
Howard & Ruder 2018 have them first. Notes: N3 §8 (fine-tuning).
"""

import re

from torch import nn

from cutaway.inside.address_globs import walk_modules
from cutaway.training.adapters.records import named_parameters, unwrapped


def layer_levels(model: nn.Module) -> dict[str, int]:
    """The level i of every parameter by its address; a stack is a ModuleList or Sequential of two layers or more.

    What comes before the first stack, in the order in which the model names its parts, is at 0, what comes after it and
    is in no stack, at the top. A stack beside it (a decoder) counts by itself. A model without stacks has all at 0.
    """
    model = unwrapped(model)
    stacks = _stacks(model)
    depth = max(stacks.values(), default=0)
    order = list(named_parameters(model))
    inside = {path: level for path in order if (level := _level_in(path, stacks)) is not None}
    first = next((i for i, path in enumerate(order) if path in inside), len(order))
    return {path: inside.get(path, 0 if i < first else depth + 1) for i, path in enumerate(order)}


def _stacks(model: nn.Module) -> dict[str, int]:
    """The outermost lists of layers by path, and how many layers each has."""
    found: dict[str, int] = {}
    for path, module in walk_modules(model):
        is_list = isinstance(module, nn.ModuleList) or (isinstance(module, nn.Sequential) and path != "")
        with_weights = [child for child in module.children() if any(True for _ in child.parameters())]
        if is_list and len(with_weights) > 1 and not any(path.startswith(f"{outer}.") for outer in found):
            found[path] = len(module._modules)
    return found


def _level_in(path: str, stacks: dict[str, int]) -> int | None:
    for stack in stacks:
        if match := re.match(rf"{re.escape(stack)}\.(\d+)\.", path):
            return int(match[1]) + 1
    return None


def rate_shares(model: nn.Module, decay: float) -> dict[nn.Parameter, float]:
    """The share d^(L − i) of the learning rate that each parameter gets.

    ``build_optimizers(model, ..., shares=rate_shares(model, 0.8))`` trains with them.
    """
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be above 0 and at most 1, got {decay}; try 0.8, or 1 for one rate everywhere")
    levels, parameters = layer_levels(model), named_parameters(model)
    top = max(levels.values(), default=0)
    shares: dict[nn.Parameter, float] = {}
    for path, level in levels.items():
        shares.setdefault(parameters[path], decay ** (top - level))  # a shared one is at its first place
    return shares
