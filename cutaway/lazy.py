"""Names that a package imports when they are first used (PEP 562), so that importing the package stays cheap."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy(package: str, places: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names live in the sub-modules that ``places`` says.

    A place that begins with ``cutaway.`` is that of a module in another part.
    """

    def get(name: str) -> Any:
        if name not in places:
            known = ", ".join(sorted(places))
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has: {known}")
        place = places[name] if places[name].startswith("cutaway.") else f"{package}.{places[name]}"
        value = getattr(import_module(place), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(places)
