r"""View of a hierarchical softmax: its tree over the classes, with the path to one of them."""

from typing import TYPE_CHECKING

from torch import Tensor

from cutaway.blocks.embeddings.hierarchical import HierarchicalSoftmax
from cutaway.look import class_tree
from cutaway.look.pages.picture import Picture
from cutaway.tasks.subjects import Subject, token_names

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def has_class_tree(run: "Run") -> bool:
    """Runs with a hierarchical softmax."""
    return any(isinstance(module, HierarchicalSoftmax) for module in run.model.modules())


def class_path(run: "Run", subject: Subject) -> list[Picture]:
    """The tree of a hierarchical softmax, and the path to a class."""
    layer = next(module for module in run.model.modules() if isinstance(module, HierarchicalSoftmax))
    names = _class_names(run, layer.classes)
    p = _probabilities(run, subject, layer.classes)
    target = _target(subject, names, p, layer.classes)
    return [class_tree(layer.tree.to_nested(), names, target=target, probabilities=p)]


def _class_names(run: "Run", classes: int) -> tuple[str, ...] | None:
    """Words of the recipe's lexicon, or tokens, where there is one for each class."""
    lexicon = getattr(run.recipe, "lexicon", None)
    words = lexicon(run).words if lexicon is not None else ()
    if len(words) == classes:
        return tuple(words)
    if run.tokenizer is not None and run.tokenizer.vocabulary >= classes:
        return token_names(run.tokenizer, range(classes))
    return None


def _probabilities(run: "Run", subject: Subject, classes: int) -> Tensor | None:
    """What the model answers to the subject at its end, if these are probabilities of the classes."""
    if not subject.arguments:
        return None
    answer = subject.output(run.model)
    if answer.ndim == 0 or answer.shape[-1] != classes or not answer.numel():
        return None
    p = answer.reshape(-1, classes)[-1].double().exp()
    return p if abs(p.sum().item() - 1) < 1e-3 else None


def _target(subject: Subject, names: tuple[str, ...] | None, p: Tensor | None, classes: int) -> int:
    """A class that the subject names, else the likeliest, else the last."""
    places = {name: i for i, name in reversed(list(enumerate(names or ())))}
    named = [places[token] for token in subject.tokens if token in places]
    if named:
        return named[-1]
    return int(p.argmax()) if p is not None else classes - 1
