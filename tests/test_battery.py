"""Every registered block through every check."""

import battery
import pytest

from cutaway.registry import Entry, entries

ENTRIES = entries()
names = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("check", battery.CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("entry", ENTRIES, ids=names)
def test_block(entry: Entry, check):
    check(entry)


@pytest.mark.untyped
@pytest.mark.parametrize("entry", ENTRIES, ids=names)
def test_block_compiles(entry: Entry):
    battery.check_compiles(entry)


@pytest.mark.untyped
@pytest.mark.parametrize("name", ["Dense"])
def test_block_compiles_for_real(name: str):
    """The real compiler is slow, so a few blocks stand for all."""
    battery.check_compiles(next(entry for entry in ENTRIES if entry.name == name), backend="inductor")
