r"""The list of blocks, and how your own joins it.

    cut.register(Swish, example=lambda: (Swish(3), torch.randn(2, 5, 3)))

A registered block is shown by `cutaway list blocks` and goes through the battery of tests/test_battery.py, as ours do.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry:
    """A registered block: what it is, how to make one with inputs, and what the battery should know."""

    name: str
    target: Callable[..., Any]
    example: Callable[[], tuple[Any, ...]]
    extreme: Callable[[], tuple[Any, ...]] | None
    kinks: str

    @property
    def family(self) -> str:
        """The file that it lives in."""
        return self.target.__module__.rsplit(".", 1)[-1]

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return re.split(r"(?<=[.:;])\s", " ".join((inspect.getdoc(self.target) or "").split("\n\n")[0].split()))[0]

    @property
    def equation(self) -> str:
        """The first line of its docstring, else of its file's, that states an equation."""
        for text in (inspect.getdoc(self.target), inspect.getdoc(inspect.getmodule(self.target))):
            for line in (text or "").splitlines():
                if re.search(r"[=∝↦←∈]", line) and not line.lstrip().startswith(">>>"):
                    return re.split(r"\s{3,}|\.\s|\.$", line.strip())[0].replace("``", "")
        return ""


_entries: dict[str, Entry] = {}


def register(
    target: T,
    *,
    example: Callable[[], tuple[Any, ...]],
    name: str | None = None,
    extreme: Callable[[], tuple[Any, ...]] | None = None,
    kinks: str = "",
) -> T:
    """Adds a block (a module class or a function) to the list and to the battery; returns it.

    ``example()`` makes one and its inputs: ``(block, *inputs)``, with tensors in torch's default dtype. ``extreme()``
    does the same with extreme but legal inputs (default: the example's floats times 1e4, and all zero). ``kinks`` says
    why finite differences cannot check the gradient, if so.
    """
    name = name or target.__name__
    known = _entries.get(name)
    if known is not None and known.target is not target:
        raise ValueError(
            f"a name can be registered once, got {name!r} for {target.__module__}.{target.__qualname__} but it is "
            f"{known.target.__module__}.{known.target.__qualname__}; pass another name="
        )
    _entries[name] = Entry(name, target, example, extreme, kinks)
    return target


def entries() -> list[Entry]:
    """Everything registered, ours first, in the order of the catalogue."""
    import_module("cutaway.catalogue")  # registers ours
    return list(_entries.values())
