r"""A text for a look at a tuned model."""

from typing import TYPE_CHECKING, Any

from cutaway.data.text.whole_texts import encode_whole_texts
from cutaway.tasks.subjects import Subject, text_subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def whole_text_subject(run: "Run", text: str, words: str) -> Subject:
    """A text between the special tokens of its model."""
    model: Any = run.model
    return text_subject(run, encode_whole_texts(run.tokenizer, [text], model.spec.context).tokens[0], words)
