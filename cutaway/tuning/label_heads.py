r"""Heads for labels on a trained model: a fresh one, or the one that is there, as far as it has the same labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from cutaway.training.adapters.stacked_adapters import rebuilt

if TYPE_CHECKING:
    from cutaway.tuning.bases import Base

SAME_HEAD = "head: that of the base, which has the same labels"


def with_labels(model: Any, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> Any:
    """The model under a head for these labels, in their order.

    A head of the same labels, which pools in the same way, is kept. Of one that has some of them, these rows are kept.
    """
    old: Any = getattr(model.spec, "head", None)
    kind = "tags" if each == "token" else "classes"
    alike = old is not None and old.kind == kind
    alike = alike and (pooling is None or kind == "tags" or model.head.pooling == pooling)
    if alike and set(old.labels) == set(labels):
        return _reordered(model, old.labels, labels)
    known = alike and bool(set(old.labels) & set(labels))
    pooled = old.pooling if known else pooling
    new = rebuilt(model, lambda m: m.with_labels(labels, each, pooled))
    if known and new.spec.head.hidden == old.hidden:
        take_over(model.head, new.head, old.labels, labels)
    return new


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


@torch.no_grad()
def take_over(head: Any, new: Any, old: Sequence[str], labels: Sequence[str]) -> None:
    """Copies into a new head the rows of the labels that the old one knew, and what comes before its last layer."""
    for name, tensor in new.state_dict().items():
        if not name.startswith("classify."):
            tensor.copy_(head.state_dict()[name])
    here = torch.tensor([list(labels).index(label) for label in labels if label in old])
    there = torch.tensor([list(old).index(label) for label in labels if label in old])
    axis = _outputs_axis(new.classify)
    new.classify.weight.index_copy_(axis, here, head.classify.weight.index_select(axis, there))
    if new.classify.bias is not None and head.classify.bias is not None:
        new.classify.bias[here] = head.classify.bias[there]


def keeps_labels(model: Any, labels: Sequence[str], kind: str) -> bool:
    """Whether `with_labels` may keep rows of the head that a base has, as it knows some of the labels."""
    old: Any = getattr(getattr(model, "spec", None), "head", None)
    return old is not None and old.kind == kind and bool(set(old.labels) & set(labels))


def known_labels(old: Any, new: Any) -> list[str]:
    """The labels of a new head whose rows are those of the base's head."""
    if old is None or new is None or any(getattr(old, f) != getattr(new, f) for f in ("kind", "pooling", "hidden")):
        return []
    return [label for label in new.labels if label in old.labels]


def head_in_words(old: Any, new: Any) -> str:
    """What a new head has of the base's, in a line, or what it is for; "" for a head of labels that is all new."""
    if new is not None and new.kind == "masked" and (old is None or old.kind != "masked"):
        return "head: new, for masked tokens, tied to the embeddings"
    known = known_labels(old, new)
    if not known:
        return ""
    fresh = [label for label in new.labels if label not in old.labels]
    if not fresh and len(known) == len(old.labels):
        return SAME_HEAD
    return f"head: that of the base for {_some(known)}" + (f", new for {_some(fresh)}" if fresh else "")


def _some(labels: list[str]) -> str:
    return ", ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")


def _outputs_axis(layer: Any) -> int:
    """The axis of a linear map's outputs, as it declares it."""
    return getattr(layer, "linear_maps", {"weight": 0})["weight"] % 2


def usual_pooling(base: "Base", head_only: bool, labels: Sequence[str]) -> str | None:
    """How texts are pooled if nobody chose; None for what the base's head or, without one, its family does.

    A head that knows some of the labels goes on as it is.
    All layers' means tell most of a body that is frozen, and of checkpoints made for vectors of sentences, which say
    that they pool by the mean; such a head is exported beside the body (hub/head_files.py).
    """
    old: Any = getattr(base.model.spec, "head", None)
    if old is not None and old.kind == "classes" and set(old.labels) & set(labels):
        return None
    if base.model.input_kind != "masked text":
        return None  # the streams of models that read to the right are not of one scale
    sentence = getattr(base.model.spec, "sentence", None)
    return "layers" if head_only or (sentence is not None and sentence.pooling == ("mean",)) else None


__all__ = ["SAME_HEAD", "head_in_words", "keeps_labels", "known_labels", "take_over", "usual_pooling", "with_labels"]
