"""What a mistake at the command line must look like: one line that says the way out, code 2, nothing left behind."""

import re
import shlex
from pathlib import Path

import pytest

from cutaway import cli


def expect_one_line(
    typed: str, told: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Types ``cutaway`` and these words in that folder: the answer is one line with ``told`` in it."""
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    words = shlex.split(typed)
    assert cli.run(words) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"cutaway {words[0]}: ")
    assert shown.err.count("\n") == 1
    assert told in shown.err
    assert re.search(r"; |\?$", shown.err.strip()), "no way out"
    assert not re.search(r"Errno|Traceback|Error:", shown.err)
    assert shown.out == ""
    left = [path.name for path in sorted(place.iterdir()) if path not in before and path.name != "runs"]
    assert left == []
