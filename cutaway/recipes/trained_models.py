r"""The model of a run folder with its trained weights, as the run itself and tuning read it."""

from pathlib import Path
from typing import Any

from torch import Tensor

from cutaway.hub.empty_models import expect_sizes, without_weights
from cutaway.models.by_spec import spec_from_dict
from cutaway.recipes.base import Recipe
from cutaway.training.run_folder.checkpoints import read_weights, run_of_weights
from cutaway.training.run_folder.weights import find_misfit


def read_trained(recipe: Recipe, about: dict[str, Any], weights: Path) -> Any:
    """The model that a run's config.json describes, with the tensors of a file, which must fit it."""
    tensors = read_weights(weights)
    _expect_sizes(recipe, about, tensors, weights)
    with without_weights():
        model = recipe.open_model(about)
    if absent := set(model.state_dict()) - set(tensors):
        tensors = recipe.weights_of_base(model, about, run_of_weights(weights), absent) | tensors
    if misfit := find_misfit(tensors, model.state_dict()):
        raise ValueError(
            f"weights must fit the model of config.json, got {weights} with {misfit}; take both files from one copy"
        )
    model.load_state_dict(tensors, assign=True)
    recipe.loaded(model)
    return model.eval()


def _expect_sizes(recipe: Recipe, about: dict[str, Any], tensors: dict[str, Tensor], weights: Path) -> None:
    """The spec of config.json must be of a size with the weights; one that does not read is for open_model."""
    try:
        spec = spec_from_dict(about.get("spec"))
    except ValueError:
        return
    shapes = recipe.shapes_of_base(about, run_of_weights(weights))  # what the file leaves out
    expect_sizes(spec, shapes + [tuple(tensor.shape) for tensor in tensors.values()], str(weights))


__all__ = ["read_trained"]
