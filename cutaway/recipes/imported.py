r"""`imported`: a checkpoint that was trained elsewhere, as a run that can be loaded, asked and looked at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.base import Recipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run


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
    own_vocabulary: ClassVar[bool] = False  # checkpoints may have room for more tokens than their tokenizer, or less

    data: str = ""
    """where the checkpoint came from"""

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        model: Any = super().open_model(config)
        model.generation_config = config.get("generation")
        return model

    def generate(self, run: "Run", prompt: Any, **how: Any) -> str:
        from cutaway.models import generate_text

        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **how)

    def read_inputs(self, source: str) -> list[str]:
        from cutaway.tasks.texts.text_inputs import read_lines

        return read_lines(source)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """For each mask of a text, or of several, its most probable fillings, if the model is a BERT for that."""
        from cutaway.models.transformers.output_heads import MaskedHead
        from cutaway.tasks.texts.masked_tokens import fill_masks
        from cutaway.tasks.texts.text_inputs import as_texts

        if not isinstance(getattr(run.model, "head", None), MaskedHead):
            raise self._cannot("predict, as its model has no head for masked tokens")
        if run.tokenizer is None:
            raise ValueError(f"text needs a tokenizer, got {run.path} without one; import a checkpoint that has it")
        return [guess._asdict() for guess in fill_masks(run.model, run.tokenizer, as_texts(inputs))]
