r"""The Jinja sandbox in which chat templates run: no way to files, to the network or to Python's insides.

What a template writes is bounded by the process that it runs in (chat_process.py); the bounds on products and powers
here also hold where no such process can be started. Names and filters: transformers'.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from cutaway.overriding import override

LONGEST = 10_000_000  # characters that a product of a text and a number may have


def render_template(template: str, messages: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> str:
    """The text that a template makes of messages; ``values`` are the other names that it may use."""
    return _compiled(template).render(messages=[dict(message) for message in messages], **values)


def failure_of(error: BaseException) -> str | None:
    """What to say of a failure that is the template's own; None if it is not."""
    from jinja2.exceptions import TemplateError

    kinds = (TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError, RecursionError)
    return f"{type(error).__name__}: {str(error)[:1000]}" if isinstance(error, kinds) else None


def forget_templates() -> None:
    """Frees the memory of templates that were rendered before."""
    _compiled.cache_clear()


@lru_cache(maxsize=16)
def _compiled(template: str) -> Any:
    from jinja2 import nodes
    from jinja2.exceptions import SecurityError, TemplateError
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """{% generation %} … {% endgeneration %} marks what the model says; the text is what stands inside."""

        tags = {"generation"}

        @override
        def parse(self, parser: Any) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["*", "**"])

        @override
        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**":
                raise SecurityError("a chat template may not take powers")
            sized = [len(side) for side in (left, right) if isinstance(side, (str, list, tuple))]
            counts = [side for side in (left, right) if isinstance(side, int)]
            if sized and counts and sized[0] * counts[0] > LONGEST:
                raise SecurityError(f"a chat template may not write more than {LONGEST:,} characters at once")
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


__all__ = ["LONGEST", "failure_of", "forget_templates", "render_template"]
