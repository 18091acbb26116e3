"""Work that takes long says so on standard error, with pauses that grow; quick work and work not shown say nothing."""

import re
import threading
from collections.abc import Iterator

import pytest

from cutaway import waiting
from cutaway.waiting import counted, doing, telling_waits


class Told(threading.Event):
    """Set by each line that is told."""

    def one(self) -> None:
        self.clear()
        assert self.wait(60)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Every moment is long enough to be told."""
    event = Told()
    monkeypatch.setattr(waiting, "FIRST", 0.01)
    monkeypatch.setattr(waiting, "_LONGEST", 0.01)
    monkeypatch.setattr("builtins.print", lambda *given, real=print, **how: (real(*given, **how), event.set()))
    return event


def test_what_takes_long_is_told(told: Told, capsys: pytest.CaptureFixture[str]):
    with telling_waits("reading wide.csv"):
        told.one()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.match(r"reading wide\.csv: \d+ s so far\n", captured.err)


def test_a_part_names_itself_and_what_is_around_it_comes_back(told: Told, capsys: pytest.CaptureFixture[str]):
    with telling_waits("preparing"):
        with doing("fitting the head"):
            told.one()
        capsys.readouterr()
        told.one()
        told.one()
    assert capsys.readouterr().err.splitlines()[-1].startswith("preparing: ")
    with telling_waits("preparing"), doing("fitting the head"), telling_waits("searching"):
        told.one()
    assert capsys.readouterr().err.splitlines()[-1].startswith("searching: ")


@pytest.mark.parametrize("known", [True, False])
def test_what_is_counted_tells_its_share(told: Told, capsys: pytest.CaptureFixture[str], known: bool):
    rows: list[int] = []
    with telling_waits("walking"):
        for row in counted(range(4) if known else iter(range(4)), "reading the walks", None if known else 4):
            rows.append(row)
            if row == 2:
                told.one()
                told.one()
    assert rows == [0, 1, 2, 3]
    assert re.match(r"reading the walks: 50%, \d+ s so far", capsys.readouterr().err.splitlines()[-1])


def test_quick_work_and_work_not_shown_say_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with telling_waits("a moment"), doing("a part of it"):
        pass
    monkeypatch.setattr(waiting.threading, "Thread", None)  # what is not shown starts no teller
    with telling_waits("in silence", shown=False), doing("a part"):
        assert list(counted("ab", "letters")) == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_rows_that_are_left_early_are_no_part_any_more():
    def first(rows: Iterator[int]) -> int:
        return next(rows)

    with telling_waits("work"):
        rows = counted(range(3), "rows")
        assert first(rows) == 0
        rows.close()
        assert [part.what for part in waiting._told.get() or []] == ["work"]
    assert waiting._told.get() is None


def test_an_error_in_the_block_ends_the_telling():
    before = threading.active_count()
    with pytest.raises(ValueError, match="odd"), telling_waits("work"), doing("a part"):
        raise ValueError("odd")
    assert threading.active_count() == before
    assert waiting._told.get() is None
