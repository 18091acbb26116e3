r"""A baseline that is measured after the first step of training: what is reached without the model.

start → header → step 1 → baseline → step 2 → …

So a run shows what it is and begins at once; the baseline says that it is being measured, and stands in config.json.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutaway.overriding import override
from cutaway.training.callbacks import Callback

if TYPE_CHECKING:
    from cutaway.training.loop import Loop


class Announcer(Callback):
    """Tells a person what goes on beside the steps, in the way that the run is shown; knows the run's folder."""

    loop: "Loop | None" = None

    @override
    def start(self, loop: "Loop") -> None:
        self.loop = loop

    def say(self, text: str) -> None:
        """Shows a line, if the run is shown to anyone."""
        if self.loop is not None:
            for callback in self.loop.callbacks.values():
                callback.note(self.loop, text)

    def note_baseline(self, found: dict[str, Any]) -> None:
        """Writes a rule and its metrics into config.json, for the report and for `cutaway train`'s last lines."""
        if self.loop is not None:
            self.loop.job.data["baseline"] = found
            if self.loop.folder is not None:
                self.loop.folder.add_data_facts({"baseline": found})


class LateBaseline(Announcer):
    """Measures a baseline after the first step of a run: ``measure`` gives a rule and its metrics, or {}."""

    def __init__(self, measure: Callable[[], dict[str, Any]]) -> None:
        self.measure = measure
        self.done = False

    @override
    def before(self, loop: "Loop") -> None:
        if loop.step:  # the first step is done and shown
            self._measure(loop)

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        if loop.step == loop.steps:  # the first one is the last
            self._measure(loop)

    def _measure(self, loop: "Loop") -> None:
        if self.done or not loop.processes.is_first:
            return
        self.done = True
        self.say("baseline: measuring what is reached without the model, once")
        if found := self.measure():
            self.note_baseline(found)
            self.say(f"baseline: {shown_baseline(found)}")

    @override
    def state(self) -> dict[str, Any]:
        return {"done": self.done}

    @override
    def restore(self, state: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.done = state["done"]


def shown_baseline(found: dict[str, Any]) -> str:
    """A baseline in a line: its figures and its rule.

    >>> shown_baseline({"rule": "the mean image", "metrics": {"loss": 0.25}})
    'loss 0.2500 (the mean image)'
    """
    figures = ", ".join(f"{k} {v:.4f}" for k, v in found["metrics"].items() if isinstance(v, int | float))
    return f"{figures} ({found['rule']})"


__all__ = ["Announcer", "LateBaseline", "shown_baseline"]
