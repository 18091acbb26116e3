"""`@override` marks a method that replaces one of a base class; mypy refuses one that replaces nothing.

It is that of typing_extensions for type checkers; at run time it does nothing, so that `cutaway --help` need not import
typing_extensions.
"""

from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Any)

if TYPE_CHECKING:
    from typing_extensions import override as override
else:

    def override(method: F) -> F:
        """The method itself."""
        return method
