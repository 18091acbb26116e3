r"""How good samples are by guidance and number of steps, measured on the run's own images."""

from typing import TYPE_CHECKING, Any

from cutaway.look.charts.score_panels import score_panels
from cutaway.look.pages.picture import Picture
from cutaway.tasks.images.sampling_grid import Setting, sampling_grid
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_GOALS = {"distance": 1.0, "recognised": 1.0, "variety": 1.0, "novelty": 1.0}


def sampling_scores(run: "Run", subject: Subject) -> list[Picture]:
    """Samples of several settings beside the run's own, by four figures that no other network is needed for."""
    learner: Any = run.learner
    scores = sampling_grid(learner)
    if not scores:
        return []
    recipe: Any = run.recipe
    own = Setting(recipe.sampling_steps, recipe.guidance if any(one.guidance for one in scores) else None)
    classes = own.guidance is not None
    first = next(iter(scores.values()))
    return [
        score_panels(
            {_words(one): found for one, found in scores.items()},
            goals={name: goal for name, goal in _GOALS.items() if name in first},
            chosen=_words(own),
            title="Samples by steps and guidance" if classes else "Samples by steps",
            caption="Few steps cost likeness to the data"
            + ("; more guidance makes samples easier to recognise and more alike." if classes else "."),
            note="Dashed: what images of the data have. Distance: Fréchet's to held-out images, where training images "
            "have 1. "
            + "Recognised: by the five nearest training images, as the class asked for. " * classes
            + "Variety: distance between samples"
            + " of a class" * classes
            + ", where the data have 1. Novelty: distance to the nearest training image, where held-out images have 1; "
            "copies have 0. The run's own setting is darker.",
        )
    ]


def _words(one: Setting) -> str:
    return f"{one.steps} steps" + (f", guidance {one.guidance:g}" if one.guidance is not None else "")


__all__ = ["sampling_scores"]
