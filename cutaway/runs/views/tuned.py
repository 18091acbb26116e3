r"""Views of tuned runs: what tuning changed in the weights, the representations and the answers of the base."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.look.pages.picture import Picture
from cutaway.look.tuning.answers import Flips, flipped_images, flipped_texts
from cutaway.look.tuning.changes import plain_weights, update_ranks
from cutaway.look.tuning.representations import layer_similarity, similarity_pictures
from cutaway.look.tuning.weight_changes import WeightChange, weight_change_pictures, weight_changes
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.subjects import Subject
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_SAME = 1e-9  # of 1: rounding of a CKA of equal states
_kept: dict[tuple[str, str], Any] = {}  # the base that was opened last: three views need it


def is_tuned(run: "Run") -> bool:
    """Runs that `cutaway tune` made."""
    return bool(run.about["data"].get("base")) and isinstance(run.recipe, TunedRecipe)


def base_of(run: "Run") -> Any:
    """The model that a run was tuned from, if it is still where it was, with the same weights."""
    from cutaway.tuning.bases import expect_base, open_base

    noted = run.about["data"]["base"]
    key = (noted["path"], noted["digest"])
    if key not in _kept:
        try:
            found = open_base(str(expect_base(noted, run.path)))
        except (ValueError, OSError) as error:
            raise ValueError(f"what tuning changed is seen beside the base, which cannot be opened: {error}") from None
        _kept.clear()
        _kept[key] = found.model
        share_weights(run, found.model)
    return _kept[key]


def share_weights(run: "Run", base: Any) -> None:
    """Lets a base read the weights that a run took from it where the run has them: the file is in memory once."""
    from safetensors import safe_open

    from cutaway.training.adapters.records import named_parameters

    with safe_open(run.path / "model.safetensors", framework="pt") as file:
        own = set(file.keys())
    there = named_parameters(base)
    addresses = {id(p): address for address, p in named_parameters(run.model).items()}
    for name, x in run.model.state_dict(keep_vars=True).items():
        same = there.get(addresses.get(id(x), "")) if name not in own else None
        if same is not None and (same.shape, same.dtype, same.device) == (x.shape, x.dtype, x.device):
            same.data = x.data


def weight_updates(run: "Run", subject: Subject) -> list[Picture]:
    """How far tuning moved each matrix, and in how many directions."""
    recipe: Any = run.recipe
    changes = weight_changes(plain_weights(base_of(run)), plain_weights(run.model))
    if recipe.way in ("lora", "last", "full"):
        _expect_moved(run, changes)
    return weight_change_pictures(changes, {} if recipe.dora else update_ranks(run.model))  # DoRA turns every direction


def _expect_moved(run: "Run", changes: list[WeightChange]) -> None:
    """Says why there is nothing to draw where validation was best before the first step."""
    kept = [row["weights_of"] for row in run.metrics if "weights_of" in row]
    if changes and all(change.relative == 0 for change in changes):
        why = ": validation was best before the first step, so these weights were kept" if kept[-1:] == [0] else ""
        raise ValueError(f"no matrix of the base moved{why}; try a lower --rate, or --final last")


def changed_representations(run: "Run", subject: Subject) -> list[Picture]:
    """How alike each layer's representations are before and after tuning, on inputs that were held out."""
    recipe: Any = run.recipe
    if recipe.way == "head_only":
        return []  # nothing below the head moved
    held_out = find_method(run, "held_out_inputs")
    inputs = (held_out() if held_out else []) or ([subject.arguments] if subject.arguments else [])
    if not inputs:
        return []
    layers, similarity = layer_similarity(base_of(run), run.model, inputs)
    return similarity_pictures(layers, similarity) if np.diag(similarity).min() < 1 - _SAME else []


def flipped_answers(run: "Run", subject: Subject) -> list[Picture]:
    """Held-out examples whose answer tuning turned from wrong to right, or from right to wrong."""
    answers = find_method(run, "answers_before_and_after")
    found = None if answers is None else answers(base_of(run))
    if found is None:
        return []
    flips = Flips.of(found.right_before, found.right_after)
    told = found.before, found.after, found.rule
    if isinstance(found.examples, np.ndarray) or hasattr(found.examples, "shape"):
        return flipped_images(flips, found.examples, *told)
    return flipped_texts(flips, found.examples, *told, found.what)
