r"""Equal texts in one part of the data: which runs were made so, and which were made before.

The parts of a run are drawn again from its data whenever they are needed (`cutaway test`, views). So config.json says
by which rule: ``data.together`` is true where equal texts are in one part (data/splits.py).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.runs.run import Run

TOGETHER = "together"


def kept_together(run: "Run | None") -> bool:
    """Whether equal texts are in one part: always but in runs that were made before they were."""
    return run is None or bool(run.about["data"].get(TOGETHER))


def expect_same_parts(run: "Run", train: "Callable[[Run | None], Any]") -> None:
    """A run that goes on must have the parts that it began with; ``train`` reads what is trained on, as then or now."""
    if not kept_together(run) and train(run) != train(None):
        raise ValueError(
            f"a run goes on with the parts of its data, got {run.path}, which was begun when equal texts could be in "
            "several parts; start a new run, in which they are in one"
        )


__all__ = ["TOGETHER", "expect_same_parts", "kept_together"]
