r"""Answers by a trained language model: what it is asked is read, not learned.

cost = −Σ log p(x_{t+1} | x_1 … x_t) / n        over the n tokens x_{t+1} of answers alone
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from cutaway.data.similar_lengths import SimilarLengths, by_length
from cutaway.data.text.chat.conversations import Conversation, MarkedTexts, encode_conversations, mark_answers
from cutaway.models import generate_text
from cutaway.overriding import override
from cutaway.tasks.subjects import Subject, subject_by_model, text_subject
from cutaway.tasks.texts.chat import Chat
from cutaway.training.jobs import Job
from cutaway.tuning.batch_parts import sum_parts
from cutaway.tuning.labelled_rows import call, token_batch
from cutaway.tuning.learner import TunedLearner

_SAMPLES = 2  # prompts answered at every evaluation
_TOGETHER = 16  # conversations evaluated at a time


class ChatBatch(NamedTuple):
    """Rows of conversations, and how many learned tokens each process has in the mean."""

    rows: Int[np.ndarray, "b"]
    each: float


class ChatBatches(SimilarLengths):
    """Conversations of similar length together."""

    def __init__(self, texts: MarkedTexts, batch: int, seed: int, rank: int, world: int) -> None:
        super().__init__(texts.tokens.lengths, batch, seed, rank, world)
        self.learned = np.array([int(texts.marks[i][1:].sum()) for i in range(len(texts.marks))])

    @override
    def at(self, step: int) -> Any:
        rows = self.whole(step)
        return ChatBatch(self.share(rows), float(self.learned[rows].sum()) / self.world)


class TunedChat(TunedLearner):
    """A model of next tokens that learns answers."""

    unit = "conversations"
    task: Chat

    @property
    def room(self) -> int:
        """Tokens of a conversation that are read, at most."""
        return min(self.settings.context, self.model.spec.context)

    def encode(self, conversations: list[Conversation]) -> MarkedTexts:
        """Conversations as the chat template writes them, with the tokens of answers marked."""
        return encode_conversations(self.tokenizer, conversations, self.room)

    @override
    def fit_first(self) -> None:
        splits = self.task.parts.splits
        self.train = self.encode(splits.train)
        if not len(self.train.tokens):
            raise ValueError(
                f"answers must begin within the context, got none of {len(splits.train):,} that does within "
                f"{self.room} tokens; raise context={self.settings.context} if the model has room for more"
            )
        self.validation = None if splits.validation is None else self.encode(splits.validation)

    @override
    def batches(self, rank: int, world: int) -> ChatBatches:
        batch = min(self.settings.batch, len(self.train.tokens))
        return ChatBatches(self.train, batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: ChatBatch) -> Tensor:
        return answer_cost(model, batch, self.train)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return answer_loss(model, self.validation)

    @override
    def facts(self) -> dict[str, Any]:
        lines, cut, count = [self.task.parts.summary()], self.train.cut, len(self.task.parts.splits.train)
        if cut:
            lost = self.train.left_out
            lines.append(
                f"cut: {cut:,} of {count:,} conversations are longer than the context of {self.room} tokens"
                + (f"; {lost:,} have no answer within it and are left out" if lost else "")
            )
        share = sum(self.train.marks.ids) / len(self.train.marks.ids)
        lines.append(f"learned: {share:.1%} of the tokens, those of answers")
        facts: dict[str, Any] = {"summary": "\n".join(lines)}
        self.model.eval()
        if metrics := self.evaluate(self.model):
            facts["baseline"] = {"rule": "the base before it is tuned", "metrics": metrics}
        return facts

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job, shown = super().task_job(rank, world), self.task.held_out[:_SAMPLES]
        job.parts = sum_parts(self.model, self.train.tokens.lengths) if world == 1 else None
        job.samples = lambda model: write_answers(model, self.tokenizer, shown, self.settings.sample_tokens)
        return job

    # A run that is there.

    def answer_metrics(self, conversations: list[Conversation]) -> dict[str, float]:
        """Loss and perplexity of the answers of some conversations."""
        return answer_loss(self.model, self.encode(conversations))

    def generate(self, prompt: Any, **sampling: Any) -> str:
        """What the model answers to a text, which is taken as a user's message, or to a list of messages."""
        if isinstance(prompt, str) and prompt.strip() and not getattr(prompt, "writes_special_tokens", False):
            prompt = [{"role": "user", "content": prompt}]
        return generate_text(self.model, prompt, tokenizer=self.tokenizer, **sampling)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text of yours, else a conversation that was held out."""
        if given is not None:
            return subject_by_model(self.run, given)
        words = f"a conversation that it was {'' if self.task.parts.splits.validation is None else 'not '}trained on"
        return text_subject(self.run, mark_answers(self.tokenizer, self.task.held_out[0])[0].tokens, words)


def answer_cost(model: nn.Module, batch: ChatBatch, texts: MarkedTexts) -> Tensor:
    """−log p of the learned tokens given all before them: summed, and divided by their mean number a process."""
    given = token_batch(texts.tokens, batch.rows, next(model.parameters()).device)
    learned = torch.from_numpy(texts.marks.padded(batch.rows)).to(given.tokens.device).bool()[:, 1:]
    before = nn.functional.pad(learned, (0, 1))  # the positions that say a learned token
    losses = call(model, given, at=before, targets=given.tokens[:, 1:][learned])
    return losses.sum() / max(batch.each, 1.0)


@torch.no_grad()
def answer_loss(model: nn.Module, texts: MarkedTexts | None) -> dict[str, float]:
    """The mean of −log p over the tokens of all answers, and e to its power; {} if there are none."""
    if texts is None or not len(texts.tokens):
        return {}
    total = count = 0.0
    for rows in by_length(texts.tokens.lengths, _TOGETHER):
        total += answer_cost(model, ChatBatch(rows, 1.0), texts).item()
        count += float(texts.marks.padded(rows)[:, 1:].sum())
    return {"loss": total / count, "perplexity": math.exp(min(total / count, 700.0))}


def write_answers(model: nn.Module, tokenizer: Any, shown: list[Conversation], tokens: int) -> dict[str, str]:
    """What the model answers to the first messages of some conversations."""
    lines = []
    for messages in shown if tokens else []:
        last = max(i for i, message in enumerate(messages) if message["role"] == "assistant")
        before = messages[:last]
        if not before:
            continue
        try:
            said = generate_text(model, before, tokenizer=tokenizer, tokens=tokens, temperature=0)
        except ValueError:  # no room for an answer behind it
            continue
        lines.append(f"{before[-1]['role']}: {before[-1]['content']}\nassistant: {said.strip()}\n")
    return {"answers.txt": "\n".join(lines)} if lines else {}
