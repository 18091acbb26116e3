"""Every registered block through every check that applies to it."""

import battery
import pytest

from cutaway.registry import Entry, entries

ENTRIES = entries()
CASES = [
    pytest.param(entry, check, id=f"{entry.name}-{battery.name_of(check)}") for entry, check in battery.cases(ENTRIES)
]
REPRESENTATIVES = {entry.name for entry in battery.representatives(ENTRIES).values()}


@pytest.mark.parametrize(("entry", "check"), CASES)
def test_block(entry: Entry, check: battery.Check):
    check(entry)


def compiled(entry: Entry):
    return pytest.param(entry, id=entry.name, marks=() if entry.name in REPRESENTATIVES else pytest.mark.slow)


@pytest.mark.untyped
@pytest.mark.parametrize("entry", [compiled(entry) for entry in ENTRIES])
def test_block_compiles(entry: Entry):
    """One block of each kind in `make test`, the others in `make slow`."""
    battery.check_compiles(entry)


@pytest.mark.slow
@pytest.mark.untyped
@pytest.mark.parametrize("name", ["Dense"])
def test_block_compiles_for_real(name: str):
    """The real compiler is slow, so a few blocks stand for all."""
    battery.check_compiles(next(entry for entry in ENTRIES if entry.name == name), backend="inductor")


def test_no_block_escapes_the_battery():
    """Each goes through the checks for all blocks, each kind has its representative, and each check has blocks."""
    checked = {(entry.name, battery.name_of(check)) for entry, check in battery.cases(ENTRIES)}
    for entry in ENTRIES:
        assert {(entry.name, "documented"), (entry.name, "extremes")} <= checked
        if battery.traits(entry).is_module:
            assert {(entry.name, "state_round_trip"), (entry.name, "single_precision")} <= checked
    assert set(battery.representatives(ENTRIES)) == {entry.kind for entry in ENTRIES}
    assert {check for _, check in checked} == {battery.name_of(check) for check in battery.APPLIES}
