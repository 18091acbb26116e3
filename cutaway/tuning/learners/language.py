r"""Language that a trained model goes on with: next tokens or masked ones, by what its base guesses.

Costs and metrics are those of `tasks/texts/next_token.py` and `tasks/texts/masked_tokens.py`; tokens are the base's.
"""

from typing import Any

from cutaway.overriding import override
from cutaway.tasks.subjects import Subject, subject_by_model
from cutaway.tasks.task import Files
from cutaway.tasks.texts.masked_tokens import MaskedTokens, MaskedTokensLearner
from cutaway.tasks.texts.next_token import NextTokenLearner
from cutaway.training.jobs import Job
from cutaway.tuning.batch_parts import window_parts
from cutaway.tuning.learner import Start, TunedLearner


class TunedNextToken(TunedLearner, NextTokenLearner):
    """A GPT or a Llama, which goes on with next tokens in windows that it has room for."""

    @override
    @property
    def room(self) -> int:
        return min(self.settings.context, self.model.spec.context)

    @override
    def files(self) -> Files:
        return {}  # the tokenizer is written with the base's own files

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job = super().task_job(rank, world)
        job.parts = window_parts(self.model) if world == 1 else None
        return job

    def offers(self, verb: str) -> bool:
        """Whether a verb is one to go on with: a model of next tokens writes."""
        return verb != "predict"

    def predict(self, inputs: Any) -> Any:
        path = self.run.path
        raise ValueError(f"a model of next tokens writes, got {path} to predict with; use `cutaway generate {path}`")


class TunedMaskedTokens(TunedLearner, MaskedTokensLearner):
    """A BERT, which goes on with masked tokens by its own head, or by a new one (`masked_heads.py`)."""

    @override
    def files(self) -> Files:
        return {}  # the tokenizer is written with the base's own files

    @override
    def subject(self, given: str | None = None) -> Subject:
        return subject_by_model(self.run, given)


def language_learner(settings: Any, task: Any, model: Any, start: Start | None = None) -> TunedLearner:
    """The learner of a task of language."""
    kind = TunedMaskedTokens if isinstance(task, MaskedTokens) else TunedNextToken
    return kind(settings, task, model, start)
