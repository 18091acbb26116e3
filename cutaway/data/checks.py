r"""Checks of the arguments of data functions. Each error states the rule, what came, and what to do instead."""

import difflib
from collections.abc import Iterable


def expect_choice(name: str, value: str, known: Iterable[str]) -> None:
    """A name must be one of those known."""
    known = list(known)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}; pick one of these")


def nearest(asked: str, known: Iterable[str], count: int = 3) -> str:
    """The known names nearest to an unknown one, or the first few, as text for an error message."""
    known = list(known)
    folded = {name.casefold(): name for name in known}
    near = [folded[name] for name in difflib.get_close_matches(asked.casefold(), folded, n=count, cutoff=0.5)]
    return ", ".join(near or known[:count])


__all__ = ["expect_choice", "nearest"]
