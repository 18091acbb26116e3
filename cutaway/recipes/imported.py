r"""`imported`: a checkpoint that was trained elsewhere, as a run that can be loaded, asked and looked at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.base import Recipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.checkpoint import CheckpointLearner


@dataclass(frozen=True)
class ImportedRecipe(Recipe):
    """A checkpoint that was trained elsewhere; `cutaway import` makes one."""

    name: ClassVar[str] = "imported"
    kind: ClassVar[str] = "checkpoint"
    own_vocabulary: ClassVar[bool] = False  # checkpoints may have room for more tokens than their tokenizer, or less

    data: str = ""
    """where the checkpoint came from"""

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        model: Any = super().open_model(config)
        model.generation_config = config.get("generation")
        return model

    def build(self, task: Any, base: Any = None, model: Any = None) -> "CheckpointLearner":
        from cutaway.tasks.checkpoint import CheckpointLearner

        if model is None:
            raise self._cannot("be trained")
        return CheckpointLearner(self, task, model)
