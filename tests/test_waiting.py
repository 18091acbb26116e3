"""Work that takes long says so on standard error, with pauses that grow; quick work and work not shown say nothing."""

import re
import threading

import pytest

from cutaway import waiting
from cutaway.waiting import telling_waits


def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(waiting, "FIRST", 0.01)
    told = threading.Event()
    monkeypatch.setattr("builtins.print", lambda *given, real=print, **how: (real(*given, **how), told.set()))
    with telling_waits("reading wide.csv"):
        assert told.wait(60)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.match(r"reading wide\.csv: \d+ s so far\n", captured.err)


def test_quick_work_and_work_not_shown_say_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with telling_waits("a moment"):
        pass
    monkeypatch.setattr(waiting, "FIRST", 0.0)
    with telling_waits("in silence", shown=False):
        assert threading.active_count() >= 1
    assert capsys.readouterr().err == ""


def test_an_error_in_the_block_ends_the_telling(monkeypatch: pytest.MonkeyPatch):
    before = threading.active_count()
    with pytest.raises(ValueError, match="odd"), telling_waits("work"):
        raise ValueError("odd")
    assert threading.active_count() == before
