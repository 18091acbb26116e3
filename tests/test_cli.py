"""The command line: what it exits with, what it says, what it does not import."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cutaway import cli

HEAVY = {"torch", "numpy", "pandas", "altair", "transformers", "sklearn"}


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes `cutaway test` do something else."""

    def replace(action: Any) -> None:
        monkeypatch.setattr(cli, "import_module", lambda name: SimpleNamespace(main=lambda argv: action()))

    return replace


def raises(error: BaseException) -> Any:
    def action() -> None:
        raise error

    return action


def test_help_teaches(capsys: pytest.CaptureFixture[str]):
    for argv in ([], ["--help"], ["-h"], ["help"]):
        assert cli.run(argv) == 0
        told = capsys.readouterr().out
        assert all(f"  {verb} " in told for verb in cli.verbs())
        assert "cutaway train gpt" in told


@pytest.mark.parametrize("verb", cli.verbs())
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run([verb, "--help"]) == 0
    assert f"cutaway {verb}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]):
    from cutaway import __version__

    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"cutaway {__version__}\n"


def test_an_unknown_verb_suggests_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["trian"]) == 2
    listed = ", ".join(cli.verbs())
    told = f"cutaway trian: a verb must be one of {listed}, got 'trian'; did you mean train?\n"
    assert capsys.readouterr().err == told
    assert cli.run(["xyzzy"]) == 2
    assert "`cutaway --help` tells what each does" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        ValueError("steps must be above 0,\n got -5"),
        FileNotFoundError(2, "No such file", "a.txt"),
        PermissionError(13, "Permission denied", "run"),
        FloatingPointError("training needs finite numbers"),
        MemoryError("a run must fit into memory"),
        ModuleNotFoundError("tables need pandas; run pip install 'cutaway[tables]'", name="pandas"),
    ],
)
def test_what_is_the_users_to_mend_is_one_line_and_code_2(
    verb: Any, error: Exception, capsys: pytest.CaptureFixture[str]
):
    verb(raises(error))
    assert cli.run(["test"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("cutaway test: ")
    assert told.count("\n") == 1


def test_a_fault_of_ours_is_a_traceback_and_code_1(verb: Any, capsys: pytest.CaptureFixture[str]):
    for error in (KeyError("weights"), ModuleNotFoundError("No module named 'cutaway.gone'", name="cutaway.gone")):
        verb(raises(error))
        assert cli.run(["test"]) == 1
        told = capsys.readouterr().err
        assert told.startswith("Traceback")
        assert told.endswith("cutaway: this is a fault of Cutaway: please report it with the lines above\n")


def test_a_traceback_can_be_asked_for(verb: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("CUTAWAY_TRACEBACK", "1")
    verb(raises(ValueError("steps must be above 0")))
    assert cli.run(["test"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("cutaway test: steps must be above 0\n")


def test_a_panic_of_a_compiled_library_is_a_line(verb: Any, capsys: pytest.CaptureFixture[str]):
    verb(raises(type("PanicException", (BaseException,), {})("no renderer")))
    assert cli.run(["test"]) == 2
    assert capsys.readouterr().err.startswith(
        "cutaway test: a compiled library must run through, got a panic of it (no"
    )


def test_long_words_are_cut(verb: Any, capsys: pytest.CaptureFixture[str]):
    verb(raises(ValueError(f"a word, got {'x' * 5000}; cut it")))
    assert cli.run(["test"]) == 2
    assert capsys.readouterr().err == f"cutaway test: a word, got {'x' * 300}… cut it\n"
    assert cli.run(["y" * 5000]) == 2
    assert len(capsys.readouterr().err) < 300


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_has_no_room_is_a_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cutaway", "list", "data"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("cutaway list: a disk must have room for what is written to it, got none left; free")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_too_few_files_are_told_at_once():
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))"
    done = python(f"{limit}\nfrom cutaway.cli import main; main(['list'])")
    assert done.returncode == 2
    assert done.stderr == (
        "cutaway list: a command opens up to 64 files, got a limit of 20; raise it by `ulimit -n 1024`\n"
    )


def test_a_terminal_without_greek_letters_shows_their_codes():
    done = python(
        "from cutaway.cli import main; main(['list', 'blocks'])", env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr
    assert "\\u03c3" in done.stdout  # σ


def test_ctrl_c(verb: Any, capsys: pytest.CaptureFixture[str]):
    from cutaway.training.run_folder.interrupts import Stopped

    for error, code, told in (
        (KeyboardInterrupt(), 130, "stopped\n"),
        (Stopped("stopped after step 3", 143), 143, "stopped after step 3\n"),
    ):
        verb(raises(error))
        assert cli.run(["test"]) == code
        assert capsys.readouterr().err == told


def test_warnings_are_a_line(verb: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    import warnings

    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = (
            lambda message, *rest, **more: print(  # pytest keeps its own
                warnings.formatwarning(message, *rest[:3]), end="", file=sys.stderr
            )
        )
        verb(lambda: warnings.warn("another torch", stacklevel=1))
        assert cli.run(["test"]) == 0
    assert capsys.readouterr().err == "cutaway: another torch\n"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["generate"], "RUN"),
        (["generate", "nowhere"], "a run is a folder with config.json, got nowhere without one"),
        (["test", "nowhere"], "a run is a folder with config.json, got nowhere without one"),
        (["export", "nowhere", "--to", "out"], "a run is a folder with config.json, got nowhere without one"),
        (["export", "nowhere"], "--to"),
        (["import", "./nowhere"], "nowhere"),
        (["import", "a.txt"], "a checkpoint is a folder with config.json, got the file a.txt"),
    ],
)
def test_mistakes_with_runs_are_one_line(
    argv: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    assert cli.run(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"cutaway {argv[0]}: ")
    assert error.count("\n") == 1
    assert told in error
    assert not (tmp_path / "runs").exists()


def python(code: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize(
    ("argv", "absent"),
    [
        ([], HEAVY | {"tyro", "rich"}),
        (["--version"], HEAVY | {"tyro", "rich"}),
        (["train", "--help"], HEAVY),
        (["train", "gpt", "--help"], HEAVY),
        (["train", "bert", "--help"], HEAVY),
        (["train", "transformer", "--help"], HEAVY),
        (["predict", "--help"], HEAVY),
        (["generate", "--help"], HEAVY),
        (["forecast", "--help"], HEAVY),
        (["test", "--help"], HEAVY),
        (["look", "--help"], HEAVY),
        (["export", "--help"], HEAVY),
        (["list", "recipes"], HEAVY),
        (["list", "data"], HEAVY),
        (["train", "gpt", "--steps", "-5"], HEAVY),  # the mistake is told before anything is loaded
        (["--print-completion", "bash"], HEAVY),
    ],
)
def test_what_is_not_needed_is_not_imported(argv: list[str], absent: set[str]):
    code = f"import sys\nfrom cutaway.cli import run\nrun({argv!r})\nprint(*sys.modules)"
    done = python(code)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & absent


def test_a_closed_pipe_is_no_error():
    """`cutaway list data | head -n 1`, with a reader that goes before everything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "cutaway", "list", "data"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_whole_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """list → train → test → generate → export → import → generate, as a person would type it."""
    from little import SETTINGS, little_text

    from cutaway.runs import execution

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: None)
    flags = [word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", str(value))]

    def say(*argv: str) -> str:
        code = cli.run(argv)
        told = capsys.readouterr()
        assert code == 0, told.err
        return told.out

    text = little_text(tmp_path)
    told = say("train", "gpt", "--data", str(text), "--design", "llama", *flags)
    assert "model: GPT, " in told
    assert "run: runs/gpt-1" in told
    assert "next: cutaway generate runs/gpt-1 --prompt ...   cutaway test runs/gpt-1" in told
    assert json.loads(say("test", "runs/gpt-1", "--json"))["first_reading"] is True
    assert "(as noted when the test split was read)" in say("test", "runs/gpt-1")
    how = ("--prompt", "the ", "--tokens", "4", "--seed", "1")
    written = say("generate", "runs/gpt-1", *how)
    assert written.startswith("the ")
    assert say("export", "runs/gpt-1", "--to", "out") == "checkpoint: out\n"
    assert say("import", "out") == "run: runs/out-1\n"
    assert json.loads(say("generate", "runs/out-1", "--json", *how))["text"] == written[4:-1]
