"""What goes on before the first step is told, if it takes longer than a moment, in the way that the run is shown."""

import json
import threading

import pytest

from cutaway.training import preparations
from cutaway.training.preparations import preparing, showing


@pytest.fixture
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """No moment is too short to be told; the event says that it was."""
    done = threading.Event()
    tell = preparations._tell
    monkeypatch.setattr(preparations, "_MOMENT", 0.0)
    monkeypatch.setattr(preparations, "_tell", lambda *what: (tell(*what), done.set()))
    return done


@pytest.mark.parametrize(
    ("show", "expected"), [("lines", "fitting a head …\n"), ("json", '{"event": "note", "text": "fitting a head"}\n')]
)
def test_long_work_is_told(told_at_once: threading.Event, capsys: pytest.CaptureFixture[str], show: str, expected: str):
    with showing(show), preparing("fitting a head"):
        assert told_at_once.wait(30)
    out = capsys.readouterr().out
    assert (json.loads(out) == json.loads(expected)) if show == "json" else out == expected


def test_a_bar_is_told_beside_the_outputs(told_at_once: threading.Event, capsys: pytest.CaptureFixture[str]):
    with showing("bar"), preparing("fitting a head"):
        assert told_at_once.wait(30)
    assert capsys.readouterr() == ("", "fitting a head …\n")


def test_short_work_and_quiet_runs_print_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    with showing("lines"), preparing("no work"):
        pass
    monkeypatch.setattr(preparations, "Timer", None)  # a quiet run waits for nobody
    with preparing("no work"), showing("quiet"), preparing("no work"):
        pass
    assert capsys.readouterr() == ("", "")
