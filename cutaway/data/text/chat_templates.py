r"""Chat templates: a conversation written as the one text that an instruct model was trained on.

    [{"role": "user", "content": "Hi"}]   →   "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"

A template is a Jinja program that came with a checkpoint. It runs in Jinja's sandbox, which gives it no way to files,
to the network or to Python's insides, and with bounds on what it may multiply. Names and filters: transformers'.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

Message = Mapping[str, Any]
_LONGEST = 10_000_000  # characters that a product of a text and a number may have


class ChatText(str):
    """The text of a conversation: unlike in other texts, special tokens in it are tokens."""

    __slots__ = ()
    writes_special_tokens = True  # the template writes the start of a text itself


def write_chat(template: str, messages: Sequence[Message], values: Mapping[str, Any]) -> ChatText:
    """The conversation as the template writes it; ``values`` are the other names that it may use."""
    expect_messages(messages)
    from jinja2.exceptions import TemplateError

    try:
        text = _compiled(template).render(messages=[dict(message) for message in messages], **values)
    except (
        TemplateError,
        ArithmeticError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError(
            f"the tokenizer's chat template must be able to write the messages, got {type(error).__name__}: {error}; "
            "see which roles and order it asks for"
        ) from None
    return ChatText(text)


def expect_messages(messages: Any) -> None:
    fits = isinstance(messages, Sequence) and not isinstance(messages, str) and len(messages) > 0
    if not fits or not all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in messages):
        raise ValueError(
            f"a conversation must be a list of messages with a role and a content, got {str(messages)[:60]!r}; "
            'try [{"role": "user", "content": "Hi"}]'
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


@lru_cache(maxsize=16)
def _compiled(template: str) -> Any:
    from jinja2 import nodes
    from jinja2.exceptions import SecurityError, TemplateError
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """{% generation %} … {% endgeneration %} marks what the model says; the text is what stands inside."""

        tags = {"generation"}

        def parse(self, parser: Any) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["*", "**"])

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**":
                raise SecurityError("a chat template may not take powers")
            sized = [len(side) for side in (left, right) if isinstance(side, (str, list, tuple))]
            counts = [side for side in (left, right) if isinstance(side, int)]
            if sized and counts and sized[0] * counts[0] > _LONGEST:
                raise SecurityError(f"a chat template may not write more than {_LONGEST:,} characters at once")
            return super().call_binop(context, operator, left, right)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    def to_json(value: Any, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=options.pop("ensure_ascii", False), **options)

    sandbox = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    sandbox.filters["tojson"] = to_json
    sandbox.globals["raise_exception"] = raise_exception
    sandbox.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return sandbox.from_string(template)


__all__ = ["ChatText", "Message", "choose_template", "expect_messages", "write_chat"]
