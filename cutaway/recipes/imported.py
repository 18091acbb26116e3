r"""`imported`: a checkpoint that was trained elsewhere, as a run that can be loaded, asked and looked at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tasks.checkpoint import CheckpointLearner


def _no_masks(run: "Run") -> str:
    from cutaway.models.transformers.output_heads import MaskedHead

    return "" if isinstance(getattr(run.model, "head", None), MaskedHead) else "its model has no head for masked tokens"


def _no_text(run: "Run") -> str:
    return "" if hasattr(run.model, "begin") else "its model has no next token to predict"


@dataclass(frozen=True)
class ImportedRecipe(Recipe):
    """A checkpoint that was trained elsewhere; `cutaway import` makes one."""

    name: ClassVar[str] = "imported"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("generate", refuses=_no_text),
        Offer("predict", takes='"The [MASK] is returned."', refuses=_no_masks),
    )
    task_kind: ClassVar[str] = "checkpoint"

    data: str = ""
    """where the checkpoint came from"""

    @override
    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        model: Any = super().open_model(config)
        model.generation_config = config.get("generation")
        return model

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "CheckpointLearner":
        from cutaway.tasks.checkpoint import CheckpointLearner

        if model is None:
            raise self._cannot("be trained")
        return CheckpointLearner(self, task, model)
