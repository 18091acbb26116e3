"""One case stands for all in `make test`; `make slow` and .ci/run try the others too."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(representative: str, cases: dict[str, Any]) -> list[Any]:
    """The cases by their names, all but the ``representative`` marked `slow`."""
    assert representative in cases, f"{representative} must be one of {list(cases)}"
    return [
        pytest.param(*_values(case), id=name, marks=() if name == representative else pytest.mark.slow)
        for name, case in cases.items()
    ]


def _values(case: Any) -> Iterable[Any]:
    return case if isinstance(case, tuple) else (case,)
