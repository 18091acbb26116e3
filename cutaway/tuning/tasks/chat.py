r"""The task `chat`: a language model learns answers; what it is asked is read, not learned.

cost = −mean log p(x_{t+1} | x_1 … x_t)     over the tokens x_{t+1} of answers alone
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import TOGETHER, expect_same_parts, kept_together
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from cutaway.data.text.chat.conversations import Conversations, MarkedTexts
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base

_SAMPLES = 2  # prompts answered at every evaluation
_TOGETHER = 16  # conversations evaluated at a time


class ChatBatch(NamedTuple):
    """Rows of conversations, and how many learned tokens each process has in the mean."""

    rows: "np.ndarray"
    each: float


@dataclass(frozen=True)
class TunedChatRecipe(TunedRecipe):
    """Tunes a language model on conversations; the loss is on the answers alone."""

    name: ClassVar[str] = "tuned-chat"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("generate", noun="answer"),
    )
    task: ClassVar[str] = "chat"
    quality: ClassVar[str] = (
        "A small `gpt` that read summaries of Wikipedia (600 steps, 117 s of one core) learns to say what a title is, "
        "from 3,000 answers in 50 s: loss a token of 500 other answers 4.61 before, 4.41 by LoRA, 4.26 with all "
        "weights; 5.77 if it had read nothing (benchmarks/chat_answers.py)."
    )
    head_learns: ClassVar[bool] = False
    unit: ClassVar[str] = "nats a token of an answer"

    data: str = setting("", FIRST, "PATH")
    """JSON lines of messages, or of a prompt and a response; or a table with such columns"""
    context: int = setting(512, FIRST)
    """tokens of a conversation that are read, at most"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the file"""
    sample_tokens: int = setting(60, RESULTS)
    """tokens of each answer that is written at every evaluation; 0 for none"""
    batch: int = 8
    """conversations in a batch, of similar length"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 3, "context")
        expect_at_least(self, 0, "sample_tokens")

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import chats

        return chats(data)

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, base: "Base") -> "Conversations":
        from cutaway.data.text.chat.conversations import PLAIN_TEMPLATE

        tokenizer = base.expect_tokenizer()
        if getattr(base.model, "writes", "") != "continuations":
            raise ValueError(
                f"answers are written by a language model, got {base.path}, whose head gives no next token; take the "
                "checkpoint of the language model itself"
            )
        if not tokenizer.settings.get("chat_template"):
            tokenizer.settings["chat_template"] = PLAIN_TEMPLATE
        return self.dataset(tokenizer=tokenizer)

    def dataset(self, run: "Run | None" = None, tokenizer: Any = None) -> "Conversations":
        """The conversations in their three parts; those of a ``run`` must be what they were."""
        from cutaway.data.text.chat.chat_templates import choose_template
        from cutaway.data.text.chat.conversations import read_conversations

        reader = run.tokenizer if run is not None else tokenizer
        template = "" if reader is None else choose_template(reader.settings.get("chat_template"))
        found = read_conversations(
            self.data, self.validation, self.test, self.seed, self.encoding, template, kept_together(run)
        )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def expect_resumable(self, run: "Run") -> None:
        super().expect_resumable(run)
        expect_same_parts(run, lambda made: self.dataset(made, run.tokenizer).splits.train)

    def count(self, data: "Conversations") -> int:
        return len(data.splits.train)

    def task_job(self, model: "nn.Module", base: "Base", data: "Conversations", rank: int, world: int) -> "Job":
        from cutaway.data.text.chat.conversations import encode_conversations
        from cutaway.training.jobs import Job
        from cutaway.tuning.batch_parts import sum_parts

        room = min(self.context, base.model.spec.context)
        train = encode_conversations(base.tokenizer, data.splits.train, room)
        if not len(train.tokens):
            raise ValueError(
                f"answers must begin within the context, got none of {len(data.splits.train):,} that does within "
                f"{room} tokens; raise context={self.context} if the model has room for more"
            )
        held = data.splits.validation
        validation = None if held is None else encode_conversations(base.tokenizer, held, room)
        lines = [data.summary()]
        if train.cut:
            lines.append(
                f"cut: {train.cut:,} of {len(data.splits.train):,} conversations are longer than the context of {room} "
                "tokens" + (f"; {train.left_out:,} have no answer within it and are left out" if train.left_out else "")
            )
        share = sum(train.marks.ids) / len(train.marks.ids)
        lines.append(f"learned: {share:.1%} of the tokens, those of answers")
        told: dict[str, Any] = {"fingerprint": data.fingerprint.to_dict(), "source": self.data, TOGETHER: True}
        told["summary"] = "\n".join(lines)
        if validation is not None and len(validation.tokens):
            model.eval()
            told["baseline"] = {"rule": "the base before it is tuned", "metrics": answer_loss(model, validation)}
        shown = (data.splits.train if held is None else held)[:_SAMPLES]
        return Job(
            model=model,
            batches=_batches(train, min(self.batch, len(train.tokens)), self.seed, rank, world),
            objective=partial(answer_cost, texts=train),
            evaluate=lambda m: answer_loss(m, validation),
            whole=lambda m: answer_loss(m, validation),
            units=self.batch,
            unit="conversations",
            samples=lambda m: _answers(m, base.tokenizer, shown, self.sample_tokens),
            data=told,
            parts=sum_parts(model, train.tokens.lengths) if world == 1 else None,
        )

    # ------------------------------------------------------------------------------------------------------------------

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.data.text.chat.conversations import encode_conversations

        model: Any = run.model
        room = min(self.context, model.spec.context)
        return answer_loss(model, encode_conversations(run.tokenizer, self.dataset(run).splits.open_test(), room))

    def generate(self, run: "Run", prompt: Any, **sampling: Any) -> str:
        """What the model answers to a text, which is taken as a user's message, or to a list of messages."""
        from cutaway.models import generate_text

        if isinstance(prompt, str) and prompt.strip() and not getattr(prompt, "writes_special_tokens", False):
            prompt = [{"role": "user", "content": prompt}]
        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **sampling)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.data.text.chat.conversations import mark_answers
        from cutaway.tasks.subjects import subject_by_model, text_subject

        if given is not None:
            return subject_by_model(run, given)
        splits = self.dataset(run).splits
        shown = (splits.train if splits.validation is None else splits.validation)[0]
        words = f"a conversation that it was {'' if splits.validation is None else 'not '}trained on"
        return text_subject(run, mark_answers(run.tokenizer, shown)[0].tokens, words)


def _batches(texts: "MarkedTexts", batch: int, seed: int, rank: int, world: int) -> Any:
    import numpy as np

    from cutaway.data.similar_lengths import SimilarLengths

    learned = np.array([int(texts.marks[i][1:].sum()) for i in range(len(texts.marks))])

    class ChatBatches(SimilarLengths):
        """Conversations of similar length together."""

        def at(self, step: int) -> Any:
            rows = self.whole(step)
            return ChatBatch(self.share(rows), float(learned[rows].sum()) / self.world)

    return ChatBatches(texts.tokens.lengths, batch, seed, rank, world)


def answer_cost(model: "nn.Module", batch: ChatBatch, texts: "MarkedTexts") -> "Tensor":
    """−log p of the learned tokens given all before them: summed, and divided by their mean number a process."""
    import torch

    from cutaway.tuning.labelled_rows import call, token_batch

    found = token_batch(texts.tokens, batch.rows, next(model.parameters()).device)
    learned = torch.from_numpy(texts.marks.padded(batch.rows)).to(found.tokens.device).bool()[:, 1:]
    before = torch.nn.functional.pad(learned, (0, 1))  # the positions that say a learned token
    losses = call(model, found, at=before, targets=found.tokens[:, 1:][learned])
    return losses.sum() / max(batch.each, 1.0)


def answer_loss(model: "nn.Module", texts: "MarkedTexts | None") -> dict[str, float]:
    """The mean of −log p over the tokens of all answers, and e to its power."""
    import math

    import torch

    from cutaway.data.similar_lengths import by_length

    if texts is None or not len(texts.tokens):
        return {}
    total = count = 0.0
    with torch.no_grad():
        for rows in by_length(texts.tokens.lengths, _TOGETHER):
            total += answer_cost(model, ChatBatch(rows, 1.0), texts).item()
            count += float(texts.marks.padded(rows)[:, 1:].sum())
    return {"loss": total / count, "perplexity": math.exp(min(total / count, 700.0))}


def _answers(model: "nn.Module", tokenizer: Any, shown: list[Any], tokens: int) -> dict[str, str]:
    """What the model answers to the first messages of some conversations."""
    from cutaway.models import generate_text

    lines = []
    for messages in shown if tokens else []:
        last = max(i for i, message in enumerate(messages) if message["role"] == "assistant")
        asked = messages[:last]
        if not asked:
            continue
        try:
            said = generate_text(model, asked, tokenizer=tokenizer, tokens=tokens, temperature=0)
        except ValueError:  # no room for an answer behind it
            continue
        lines.append(f"{asked[-1]['role']}: {asked[-1]['content']}\nassistant: {said.strip()}\n")
    return {"answers.txt": "\n".join(lines)} if lines else {}
