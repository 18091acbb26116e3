r"""The model of a run folder with its trained weights, as the run itself and tuning read it."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from cutaway.hub.empty_models import expect_sizes, without_weights
from cutaway.models.by_spec import spec_from_dict
from cutaway.recipes.base import Recipe
from cutaway.training.run_folder.checkpoints import read_weights, run_of_weights
from cutaway.training.run_folder.weights import find_misfit


@runtime_checkable
class WeightsElsewhere(Protocol):
    """Weights of a run that stand in another file than its own."""

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of these tensors, by which a design is counted before it is built."""

    def tensors(self, model: nn.Module, names: Collection[str]) -> dict[str, Tensor]:
        """Those of the tensors that a model lacks."""

    def settle(self, model: nn.Module) -> None:
        """Completes a model that was given all of its weights."""


def read_trained(recipe: Recipe, about: dict[str, Any], weights: Path) -> Any:
    """The model that a run's config.json describes, with the tensors of a file, which must fit it."""
    tensors = read_weights(weights)
    elsewhere = recipe.weights_elsewhere(about, run_of_weights(weights))
    _expect_sizes(about, tensors, elsewhere, weights)
    with without_weights():
        model = recipe.open_model(about)
    if absent := set(model.state_dict()) - set(tensors):
        tensors = ({} if elsewhere is None else elsewhere.tensors(model, absent)) | tensors
    if misfit := find_misfit(tensors, model.state_dict()):
        raise ValueError(
            f"weights must fit the model of config.json, got {weights} with {misfit}; take both files from one copy"
        )
    model.load_state_dict(tensors, assign=True)
    if elsewhere is not None:
        elsewhere.settle(model)
    return model.eval()


def _expect_sizes(
    about: dict[str, Any], tensors: dict[str, Tensor], elsewhere: "WeightsElsewhere | None", weights: Path
) -> None:
    """The spec of config.json must be of a size with the weights; one that does not read is for open_model."""
    try:
        spec = spec_from_dict(about.get("spec"))
    except ValueError:
        return
    shapes = [] if elsewhere is None else elsewhere.shapes()  # what the file leaves out
    expect_sizes(spec, shapes + [tuple(tensor.shape) for tensor in tensors.values()], str(weights))
