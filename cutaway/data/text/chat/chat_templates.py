r"""Chat templates: a conversation written as the one text that an instruct model was trained on.

    [{"role": "user", "content": "Hi"}]   →   "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"

A template is a Jinja program that came with a checkpoint. It runs in Jinja's sandbox (chat_sandbox.py), in a process
with bounds on its memory and its time (chat_process.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cutaway.data.text.chat.chat_process import render_bounded

Message = Mapping[str, Any]
ROLES = ("system", "developer", "user", "assistant", "tool", "function")  # that models are trained with


class ChatText(str):
    """The text of a conversation: unlike in other texts, special tokens in it are tokens."""

    __slots__ = ()
    writes_special_tokens = True  # the template writes the start of a text itself


def write_chat(template: str, messages: Sequence[Message], values: Mapping[str, Any]) -> ChatText:
    """The conversation as the template writes it; ``values`` are the other names that it may use."""
    expect_messages(messages)
    expect_roles(messages, template)
    try:
        return ChatText(render_bounded(template, messages, values))
    except ValueError as error:
        raise ValueError(f"the tokenizer's chat template {error}") from None


def expect_messages(messages: Any) -> None:
    fits = isinstance(messages, Sequence) and not isinstance(messages, str) and len(messages) > 0
    if not fits or not all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in messages):
        raise ValueError(
            f"a conversation must be a list of messages with a role and a content, got {str(messages)[:60]!r}; "
            'try [{"role": "user", "content": "Hi"}]'
        )


def expect_roles(messages: Sequence[Message], template: str) -> None:
    """A role must be one that models know, or one that the template names: most templates write any word as a role."""
    for message in messages:
        role = message["role"]
        if role not in ROLES and f"'{role}'" not in template and f'"{role}"' not in template:
            raise ValueError(
                f"the role of a message must be one of {', '.join(ROLES)}, or one that the chat template names, got "
                f"{role!r}; no model has learned what it means: rename it"
            )


def choose_template(stored: Any, name: str = "default") -> str:
    """The template of a tokenizer's settings; some have several, by name."""
    if isinstance(stored, list):
        named = {one.get("name"): one.get("template") for one in stored if isinstance(one, dict)}
        if name not in named:
            known = ", ".join(str(key) for key in named) or "none"
            raise ValueError(f"the chat template must be one of {known}, got {name!r}; pass template=")
        stored = named[name]
    if not isinstance(stored, str):
        raise ValueError(
            "a conversation needs the chat template of its tokenizer, got a tokenizer without one; take an instruct "
            "checkpoint, set tokenizer.settings['chat_template'], or write the prompt yourself with special=True"
        )
    return stored


__all__ = ["ROLES", "ChatText", "Message", "choose_template", "expect_messages", "expect_roles", "write_chat"]
