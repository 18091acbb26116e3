r"""The task `chat`: a language model learns answers; what it is asked is read, not learned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import expect_same_parts
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tasks.texts.chat import Chat
    from cutaway.tuning.learners.chat import TunedChat


@dataclass(frozen=True)
class TunedChatRecipe(TunedRecipe):
    """Tunes a language model on conversations; the loss is on the answers alone."""

    name: ClassVar[str] = "tuned-chat"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("generate", noun="answer"),
    )
    task: ClassVar[str] = "chat"
    task_kind: ClassVar[str] = "texts/chat"
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 3, "context")
        expect_at_least(self, 0, "sample_tokens")

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import chats

        return chats(data)

    @override
    def read(self, base: Any = None) -> "Chat":
        from cutaway.data.text.chat.conversations import PLAIN_TEMPLATE
        from cutaway.tasks.texts.chat import Chat

        tokenizer = base.expect_tokenizer()
        if getattr(base.model, "writes", "") != "continuations":
            raise ValueError(
                f"answers are written by a language model, got {base.path}, whose head gives no next token; take the "
                "checkpoint of the language model itself"
            )
        if not tokenizer.settings.get("chat_template"):
            tokenizer.settings["chat_template"] = PLAIN_TEMPLATE
        task = Chat(self, tokenizer=tokenizer)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def expect_resumable(self, run: "Run") -> None:
        from cutaway.tasks.texts.chat import Chat

        super().expect_resumable(run)
        expect_same_parts(run, lambda made: Chat(self, made, run.tokenizer).parts.splits.train)

    @override
    def learner_kind(self) -> "type[TunedChat]":
        from cutaway.tuning.learners.chat import TunedChat

        return TunedChat
