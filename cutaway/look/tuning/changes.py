r"""What changed between two models of one design: weights and representations together.

cut.look.what_changed(before, after, tokens).pictures()
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.look.pages.picture import Picture
from cutaway.look.tuning.representations import layer_similarity, similarity_pictures
from cutaway.look.tuning.weight_changes import WeightChange, weight_change_pictures, weight_changes


@dataclass(frozen=True)
class TuningChanges:
    """Updates of matrices, and CKA of layers before (rows) and after (columns) on some inputs."""

    weights: list[WeightChange]
    layers: list[str]
    similarity: Float[np.ndarray, "l l"]

    def pictures(self) -> list[Picture]:
        return [*weight_change_pictures(self.weights), *similarity_pictures(self.layers, self.similarity)]


def what_changed(before: nn.Module, after: nn.Module, *inputs: Any, layers: str | Sequence[str] = ()) -> TuningChanges:
    """How ``after``, tuned from ``before``, differs from it: by its weights, and on ``inputs`` by what its layers say.

    ``inputs`` are the arguments of both models, tokens or images; a last dict has those by name, as
    ``{"mask": mask}``. LoRA counts as part of the weights that it stands beside. ``layers`` are addresses or globs;
    by default those that the model declares.
    """
    if not inputs:
        raise ValueError("representations need inputs to be compared, got none; give tokens or images of both models")
    globs = (layers,) if isinstance(layers, str) else tuple(layers)
    addresses, similarity = layer_similarity(before, after, [inputs], globs)
    return TuningChanges(weight_changes(plain_weights(before), plain_weights(after)), addresses, similarity)


def plain_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights that a model computes with: those of its state dict, with LoRA merged into them.

    Maps that stand side by side in one matrix, such as queries, keys and values, have names of their own.
    """
    state = dict(model.state_dict())
    for address, module in model.named_modules():
        merged, name = getattr(module, "merged_weight", None), f"{address}.weight"
        if merged is not None and name in state:
            state[name] = merged()
    modules = dict(model.named_modules())
    return {own: x for name, matrix in state.items() for own, x in _parts(modules, name, matrix).items()}


def _parts(modules: Mapping[str, nn.Module], name: str, matrix: Tensor) -> dict[str, Tensor]:
    """The maps in a matrix by their names, as the module above it declares them; else the matrix itself."""
    address, _, child = name.removesuffix(".weight").rpartition(".")
    names, sizes = (getattr(modules.get(address), declared, None) for declared in ("part_names", "fused_parts"))
    size = sizes.get(child) if isinstance(sizes, Mapping) and isinstance(names, Mapping) and child in names else None
    if not name.endswith(".weight") or not isinstance(size, tuple) or sum(size) != matrix.shape[-1]:
        return {name: matrix}
    parts = zip(names[child], matrix.split(size, -1), strict=True)  # type: ignore[index]
    return {f"{address}.{part}.weight": x for part, x in parts}


__all__ = ["TuningChanges", "plain_weights", "what_changed"]
