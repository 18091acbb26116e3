r"""What changed between two models of one design: weights and representations together.

cut.look.what_changed(before, after, tokens).pictures()
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.look.pages.picture import Picture
from cutaway.look.tuning.representations import layer_similarity, similarity_pictures
from cutaway.look.tuning.weight_changes import WeightChange, weight_change_pictures, weight_changes
from cutaway.overriding import override


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


def plain_weights(model: nn.Module) -> Mapping[str, Tensor]:
    """The weights that a model computes with: those of its state dict, with LoRA merged into them.

    Maps that stand side by side in one matrix, such as queries, keys and values, have names of their own. A merged
    matrix is computed when it is read, and not kept.
    """
    return _PlainWeights(model)


def update_ranks(model: nn.Module) -> dict[str, int]:
    """The ranks of LoRA's updates by the names of `plain_weights`: the most directions in which a matrix can move."""
    weights = _PlainWeights(model)
    found: dict[str, int] = {}
    for name, (address, columns) in weights.places.items():
        layer: Any = weights.layers.get(address)
        if layer is None:
            continue
        for adapter in layer.active:
            for part, update in layer.updates(adapter).items():
                first, last = layer.columns[part]
                if columns is None or (first < columns.stop and columns.start < last):
                    found[name] = found.get(name, 0) + update.rank
    return found


class _PlainWeights(Mapping[str, Tensor]):
    """The weights of a model by name; ``places`` are the state dict's tensor, and its columns, of each."""

    def __init__(self, model: nn.Module) -> None:
        self.state = dict(model.state_dict())
        modules = dict(model.named_modules())
        merged = {f"{path}.weight": m for path, m in modules.items() if hasattr(m, "merged_weight")}
        self.layers = {name: module for name, module in merged.items() if name in self.state}
        self.places: dict[str, tuple[str, slice | None]] = {}
        for name, matrix in self.state.items():
            self.places |= {own: (name, columns) for own, columns in _parts(modules, name, matrix).items()}

    @override
    def __getitem__(self, name: str) -> Tensor:
        address, columns = self.places[name]
        layer: Any = self.layers.get(address)
        matrix = self.state[address] if layer is None else layer.merged_weight()
        return matrix if columns is None else matrix[..., columns]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    @override
    def __len__(self) -> int:
        return len(self.places)


def _parts(modules: Mapping[str, nn.Module], name: str, matrix: Tensor) -> dict[str, slice | None]:
    """The maps in a matrix by their names, as the module above it declares them; else the matrix itself."""
    address, _, child = name.removesuffix(".weight").rpartition(".")
    names, sizes = (getattr(modules.get(address), declared, None) for declared in ("part_names", "fused_parts"))
    size = sizes.get(child) if isinstance(sizes, Mapping) and isinstance(names, Mapping) and child in names else None
    if isinstance(size, int):  # as many maps of one size
        size = (matrix.shape[-1] // size,) * size
    if not name.endswith(".weight") or not isinstance(size, tuple) or sum(size) != matrix.shape[-1]:
        return {name: None}
    ends = [0, *accumulate(size)]
    parts = zip(names[child], pairwise(ends), strict=True)  # type: ignore[index]
    return {f"{address}.{part}.weight": slice(*columns) for part, columns in parts}


__all__ = ["TuningChanges", "plain_weights", "update_ranks", "what_changed"]
