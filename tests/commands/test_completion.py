"""`cutaway --print-completion SHELL`: verbs, recipes and flags, in a real shell where there is one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cutaway import cli
from cutaway.commands.completion import SHELLS, verbs


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["--print-completion", shell]) == 0
    return capsys.readouterr().out


def test_every_verb_can_be_completed():
    assert list(verbs()) == list(cli.verbs())


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_every_shell(shell: str, capsys: pytest.CaptureFixture[str]):
    told = script(shell, capsys)
    for word in ("cutaway", "train", "gpt", "evaluate-every", "generate"):
        assert word in told


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("cutaway tr", {"train"}),
        ("cutaway train ", {"gpt"}),
        ("cutaway train gpt --evaluate-", {"--evaluate-every", "--evaluate-tokens"}),
        ("cutaway train gpt --design ", {"quick", "gpt2", "llama"}),
        ("cutaway generate --temp", {"--temperature"}),
        ("cutaway list ", {"--json"}),
    ],
)
def test_bash_completes(words: str, offered: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "completion.bash"
    file.write_text(script("bash", capsys), encoding="utf-8")
    split = words.split(" ")
    array = " ".join(f"'{word}'" for word in split)
    code = (
        f"source {file}; COMP_WORDS=({array}); COMP_CWORD={len(split) - 1}; COMP_LINE='{words}'; "
        "COMP_POINT=${#COMP_LINE}; _tyro_cutaway; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert offered <= set(done.stdout.split()), done.stdout + done.stderr
    if words.endswith(("tr", "every-", "temp")):
        assert set(done.stdout.split()) == offered


@pytest.mark.parametrize("argv", [[], ["powershell"], ["bash", "zsh"]])
def test_the_shell_must_be_known(argv: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.run(["--print-completion", *argv]) == 2
    assert f"the shell must be one of bash, zsh, fish, got {' '.join(argv)!r}" in capsys.readouterr().err
