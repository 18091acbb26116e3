r"""Who does what a verb asks of a run: its learner, its task, or its recipe.

    learner.VERB(…)             a verb of a family: predict, generate, forecast …
    task.test_metrics(learner)  what a task does with any learner
    recipe.VERB(run, …)         a recipe of yours without task and learner

A family declares by having the method; no base class names it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch import Tensor

from cutaway.data.labelled.unlabelled_texts import read_texts
from cutaway.data.text.chunks import batched
from cutaway.tasks.subjects import subject_by_model
from cutaway.tasks.words.word_rows import embedded_tokens


def find_method(run: Any, name: str) -> Callable[..., Any] | None:
    """What does it, bound to the run; None if nothing does."""
    if hasattr(type(run.recipe), name):
        return partial(getattr(run.recipe, name), run)
    if not run.recipe.kind:
        return None
    if name == "test_metrics" and hasattr(type(run.task), name):
        return partial(run.task.test_metrics, run.learner)
    return getattr(run.task, name, None) or getattr(run.learner, name, None)


def method_or_default(run: Any, name: str) -> Callable[..., Any] | None:
    """What does it, else what any run of texts does."""
    method = find_method(run, name)
    if method is None and name in _DEFAULTS:
        return partial(_DEFAULTS[name], run)
    return method


def _embed(run: Any, inputs: Any) -> Tensor:
    """A vector for each text (n, width), if the model has vectors of texts."""
    if not hasattr(run.model, "token_states"):
        raise ValueError(
            f"a run of {run.recipe.name!r} cannot embed: its model has no vectors of its inputs; "
            "`cutaway list recipes` tells what each can do"
        )
    return run.model.embed(inputs)


def _embedded_items(
    run: Any, source: str, column: str = "", encoding: str = "utf-8"
) -> Iterator[tuple[list[str], Any]]:
    """The texts of a file, some at a time: names, and inputs as `embed` takes them."""
    return ((texts, texts) for texts in batched(read_texts(source, column, encoding), 2048))


_DEFAULTS: dict[str, Callable[..., Any]] = {
    "embed": _embed,
    "embedded_items": _embedded_items,
    "asked_item": lambda run, question, names: None,  # the place of the item that a question names
    "word_rows": embedded_tokens,
    "read_inputs": lambda run, source: source,
    "export": lambda run, to: None,  # the model is written as a Hugging Face checkpoint
    "subject": subject_by_model,
}
