"""Names that hold escape sequences are shown, never obeyed."""

import io
import json
from pathlib import Path

import pytest

from cutaway.cli import run
from cutaway.visible_text import VisibleStream, raw_stream, visible

EVIL = ["\x1b[31m", "\x1b]0;title\x07", "\r", "\x08", "\x00", "\x7f", "\x9b2J", "\x85", "\u202e", "\u2066", "\u2028"]


@pytest.mark.parametrize("evil", EVIL)
def test_control_characters_become_codes(evil: str):
    shown = visible(f"a{evil}b\tc\n")
    assert shown.startswith("a\\u")
    assert shown.endswith("b\tc\n")
    assert all(c in "\t\n" or c.isprintable() for c in shown)
    assert visible(shown) == shown
    assert json.loads(visible(json.dumps({"a": evil}, ensure_ascii=False))) == {"a": evil}


def test_letters_of_every_script_stay():
    text = "naïve Ωmega 名前 עברית العربية 🙂 \u200f\n"
    assert visible(text) == text


def test_a_stream_keeps_all_but_control_characters():
    inner = io.StringIO()
    stream = VisibleStream(inner)
    assert stream.write("a\x1bb") == 3
    stream.writelines(["c\x07", "d"])
    assert inner.getvalue() == "a\\u001bbc\\u0007d"
    assert raw_stream(stream) is inner
    assert raw_stream(inner) is inner
    assert not stream.isatty()


@pytest.mark.parametrize("evil", ["\x1b[31m", "\x9b31m", "\u202e", "\x07"])
@pytest.mark.parametrize(
    "words",
    [
        ["train", "mlp", "--data", "{}.csv"],
        ["predict", "{}", "x"],
        ["{}"],
        ["train", "gpt", "--data", "x", "--{}", "3"],
    ],
)
def test_messages_of_the_command_line(words: list[str], evil: str, capsys: pytest.CaptureFixture[str]):
    assert run([word.format(f"a{evil}b") for word in words]) == 2
    told = capsys.readouterr()
    assert evil[0] not in told.out + told.err
    assert f"\\u{ord(evil[0]):04x}" in told.err or repr(evil[0])[1:-1] in told.err


def test_names_of_columns_and_files_in_the_progress_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60))
    Path("a\x1b[31m.csv").write_text(f"x\x1b[2J,y,z\x9b\n{rows}", encoding="utf-8")
    assert run(["train", "logistic", "--data", "a\x1b[31m.csv", "--target", "z\x9b", "--steps", "2"]) == 0
    told = capsys.readouterr()
    assert not {"\x1b", "\x9b"} & set(told.out + told.err)
