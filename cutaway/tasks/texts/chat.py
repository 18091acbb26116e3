r"""The task of answering: conversations in three parts, of which the answers alone are learned.

    loss = mean −log p(x_{t+1} | x_1 … x_t)         over the tokens x_{t+1} of all answers

The baseline is the model before it learns from them, so its learner measures it (tuning/learners/chat.py).
"""

from typing import Any, ClassVar

from cutaway.data.text.chat.chat_templates import choose_template
from cutaway.data.text.chat.conversations import Conversation, Conversations, read_conversations
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.overriding import override
from cutaway.tasks.task import Task
from cutaway.tasks.texts.equal_texts import TOGETHER, kept_together


class Chat(Task):
    """Conversations, whose roles are those of the chat template of a ``tokenizer``: the run's, or that of a base."""

    kind: ClassVar[str] = "texts/chat"
    parts: Conversations

    def __init__(self, settings: Any, run: Any = None, tokenizer: Tokenizer | None = None) -> None:
        super().__init__(settings, run)
        self.tokenizer: Any = tokenizer if run is None else run.tokenizer

    @override
    def read_parts(self) -> Conversations:
        given = self.settings
        template = choose_template(self.tokenizer.settings.get("chat_template"))
        shares = given.validation, given.test
        return read_conversations(given.data, *shares, given.seed, given.encoding, template, kept_together(self.run))

    @override
    def count(self) -> int:
        return len(self.parts.splits.train)

    @property
    def held_out(self) -> list[Conversation]:
        """The validation part, which was not trained on; the training part where there is no other."""
        splits = self.parts.splits
        return splits.train if splits.validation is None else splits.validation

    @override
    def facts(self) -> dict[str, Any]:
        return super().facts() | {TOGETHER: True}

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the answers of the test part."""
        return learner.answer_metrics(self.parts.splits.open_test())
