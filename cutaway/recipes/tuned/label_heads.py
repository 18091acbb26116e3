r"""Heads for labels on a trained model: a fresh one, or the one that is there if it has the same labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from cutaway.recipes.tuned.bases import Base


def with_labels(model: Any, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> Any:
    """The model under a head for these labels, in their order.

    A head of the same labels, which pools in the same way, is kept.
    """
    old: Any = getattr(model.spec, "head", None)
    kind = "tags" if each == "token" else "classes"
    same_kind = old is not None and old.kind == kind and set(old.labels) == set(labels)
    if same_kind and (pooling is None or kind == "tags" or old.pooling in (pooling, None)):
        return _reordered(model, old.labels, labels)
    return model.with_labels(labels, each, pooling)


@torch.no_grad()
def _reordered(model: Any, old: Sequence[str], labels: Sequence[str]) -> Any:
    """The same model with the rows of its last layer in the order of ``labels``."""
    order = torch.tensor([list(old).index(label) for label in labels])
    last = model.head.classify
    last.weight.data = last.weight.data.index_select(_outputs_axis(last), order)
    if last.bias is not None:
        last.bias.data = last.bias.data[order]
    model.spec = model.spec.but(head__labels=tuple(labels))
    return model


def _outputs_axis(layer: Any) -> int:
    """The axis of a linear map's outputs, as it declares it."""
    return getattr(layer, "linear_maps", {"weight": 0})["weight"] % 2


def usual_pooling(base: "Base", head_only: bool) -> str | None:
    """How texts are pooled if nobody chose; None for what the model's family does (cls or last).

    All layers' means tell most of a body that is frozen, and of checkpoints made for vectors of sentences, which say
    that they pool by the mean; such a head is exported beside the body (hub/head_files.py).
    """
    if base.model.input_kind != "masked text":
        return None  # the streams of models that read to the right are not of one scale
    sentence = getattr(base.model.spec, "sentence", None)
    return "layers" if head_only or (sentence is not None and sentence.pooling == ("mean",)) else None


__all__ = ["usual_pooling", "with_labels"]
