r"""The ways of tuning: what of a model learns, and what is put beside its weights."""

from typing import TYPE_CHECKING, Any

from torch import nn

from cutaway.inside.address_globs import matching, named_sites

if TYPE_CHECKING:
    from cutaway.recipes.tuned.tuned_base import TunedRecipe


def apply_way(model: nn.Module, recipe: "TunedRecipe") -> None:
    """Freezes what does not learn, and puts LoRA or adapters into the model."""
    if recipe.way in ("head_only", "last"):
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        learned = [model.head] if recipe.way == "head_only" else upper_part(model, recipe.last)
        for part in learned:
            for parameter in part.parameters():  # type: ignore[union-attr]
                parameter.requires_grad_(True)
    else:
        for parameter in model.parameters():
            parameter.requires_grad_(True)


def layers_of(model: Any) -> list[tuple[str, nn.Module]]:
    """The layers of a model from its input on, with their addresses."""
    sites = named_sites(model)
    return [(name, sites[name]) for glob in model.layer_order for name in matching(glob, sites)]


def upper_part(model: nn.Module, count: int) -> list[nn.Module]:
    """The last ``count`` layers and all that comes after them."""
    layers = layers_of(model)
    if count > len(layers):
        raise ValueError(
            f"last must be at most the number of layers, got last={count} for {len(layers)}; train all: full=True"
        )
    return [module for _, module in layers[len(layers) - count :]] + [model.head]  # type: ignore[list-item]


def own_memory(model: nn.Module) -> None:
    """Gives every parameter plain memory: a checkpoint's may be turned views of a file.

    An optimizer's moments have the layout of their parameter, but those of a resumed run come from a file: both must
    be the same, so that a resumed run computes the same bits.
    """
    for parameter in model.parameters():
        if not parameter.is_contiguous():
            parameter.data = parameter.data.contiguous()


def trainable_share(model: nn.Module) -> dict[str, int]:
    """How many parameters there are, and how many of them learn."""
    sizes = [(p.numel(), p.requires_grad) for p in model.parameters()]
    return {"parameters": sum(n for n, _ in sizes), "trained": sum(n for n, learns in sizes if learns)}


__all__ = ["apply_way", "layers_of", "own_memory", "trainable_share", "upper_part"]
