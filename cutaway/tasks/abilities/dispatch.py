r"""Who answers for a run what a verb asks: its learner, its task, or its recipe.

    learner.VERB(…)                     a verb of a family: generate, forecast …
    task.inputs, learner.outputs,       predict, where the family has no way of its own: a person's inputs become rows,
    task.answers                        rows outputs, and outputs answers
    task.test_metrics(learner)          the test part
    recipe.VERB(run, …)                 a recipe of yours without task and learner

A family declares by having the method; no base class names it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any


def find_method(run: Any, name: str, with_run: bool = True) -> Callable[..., Any] | None:
    """The method that answers, bound to the run; None if there is none of that name.

    Methods of a recipe are given the run first, but for those of which ``with_run`` is False.
    """
    own = getattr(run.recipe, name, None)
    if own is not None:
        return partial(own, run) if with_run else own
    if not run.recipe.task_kind:
        return None
    if name == "test_metrics" and hasattr(run.task, name):
        return partial(_test, run)
    found = getattr(run.task, name, None) or getattr(run.learner, name, None)
    if found is None and name == "predict" and hasattr(run.task, "answers"):
        return partial(_predict, run)
    return found


def _test(run: Any) -> dict[str, float]:
    """The test part of data that is read anew: it must be what the run was trained on, now."""
    task = run.recipe.task_of(run)
    return task.test_metrics(run.recipe.build(task, model=run.model))


def _predict(run: Any, inputs: Any) -> Any:
    rows = run.task.inputs(inputs)
    return run.task.answers(run.learner.outputs(rows), rows)
