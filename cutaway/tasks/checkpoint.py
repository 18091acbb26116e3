r"""A checkpoint that was trained elsewhere: there is no data, and what it does is what its model can.

a head for next tokens        `generate`
a head for masked tokens      `predict`: fillings of masks, as a trained BERT gives them (texts/masked_tokens.py)
"""

from typing import Any, ClassVar

from cutaway.models import generate_text
from cutaway.models.transformers.output_heads import MaskedHead
from cutaway.tasks.learner import Learner
from cutaway.tasks.task import Task
from cutaway.tasks.texts.masked_tokens import fill_masks
from cutaway.tasks.texts.text_inputs import as_texts, read_lines


class Checkpoint(Task):
    """Nothing is asked of data: it is not known what the model was trained on."""

    kind: ClassVar[str] = "checkpoint"


class CheckpointLearner(Learner):
    """A model that is not trained here."""

    def generate(self, prompt: Any, **how: Any) -> str:
        """Text that goes on from the prompt, a text or a list of chat messages."""
        return generate_text(self.model, prompt, tokenizer=self.run.tokenizer, **how)

    def read_inputs(self, source: str) -> list[str]:
        """The lines of a file, or a text."""
        return read_lines(source)

    def predict(self, inputs: Any) -> list[dict[str, Any]]:
        """For each mask of a text, or of several, its most probable fillings, if the model is a BERT for that."""
        if not isinstance(getattr(self.model, "head", None), MaskedHead):
            raise ValueError(
                f"a run of {self.settings.name!r} cannot predict, as its model has no head for masked tokens; "
                "`cutaway list recipes` tells what each can do"
            )
        if self.run.tokenizer is None:
            raise ValueError(
                f"text needs a tokenizer, got {self.run.path} without one; import a checkpoint that has it"
            )
        return [guess._asdict() for guess in fill_masks(self.model, self.run.tokenizer, as_texts(inputs))]
