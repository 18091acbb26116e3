"""The command line: parse, then call the library.

Exit codes: 0 done; 2 the user's to mend, told in one line (a wrong flag, a full disk, a run that diverged or does not
fit into memory); 130 or 143 stopped by Ctrl-C or a kill, after a checkpoint; 1 a fault of ours, with a traceback.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from cutaway.tasks.abilities.index import find_ability, known_verbs
from cutaway.visible_text import VisibleStream

# Commands, each in a file of its own that is imported when it is called: `cutaway --help` imports none of them. Verbs
# that are asked of a trained run come from the table of abilities (tasks/abilities/verbs).
COMMANDS = {
    "demo": ("the tour: train a small GPT, let it write, look inside", "cutaway.commands.demo:main"),
    "list": ("what there is: blocks with their equations, recipes, views, data", "cutaway.commands.list:main"),
    "train": ("train a model on your data, by a recipe", "cutaway.commands.train:main"),
    "tune": ("tune a trained model or a checkpoint to a task of yours", "cutaway.commands.tune:main"),
    "look": ("see inside a trained model: pictures on one page", "cutaway.commands.look:main"),
    "cluster": ("groups in a graph or among points, by its spectrum", "cutaway.commands.cluster:main"),
    "import": (
        "make a run of a Hugging Face checkpoint, or of word vectors",
        "cutaway.commands.import_export:import_main",
    ),
}
FILES = 64  # open at once, at most: libraries, data, the browser engine that draws pictures
LONGEST = 300  # letters of a word that a message shows
HIDDEN = {"--print-completion": ("", "cutaway.commands.completion:main")}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs one verb and exits."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without Greek letters shows their codes
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Runs one verb; returns the exit code. What names and data hold is shown by the terminal, never obeyed."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = VisibleStream(sys.stdout), VisibleStream(sys.stderr)
    try:
        return _coded(argv)
    finally:
        sys.stdout, sys.stderr = streams


def _coded(argv: Sequence[str]) -> int:
    """Runs one verb and tells what went wrong; returns the exit code."""
    try:
        return _run(argv)
    except SystemExit as stop:  # --help
        return 0 if not stop.code else 2
    except BrokenPipeError:  # `cutaway list blocks | head`
        _drop_output()
        return 0
    except KeyboardInterrupt as stop:
        if _tells():
            print(str(stop) or "stopped", file=sys.stderr)
        return getattr(stop, "code", 130)
    except Exception as error:
        return _failed(argv, error)
    except BaseException as error:  # a compiled library that panics raises no Exception
        if type(error).__name__ != "PanicException":
            raise
        return _failed(argv, error)


def _failed(argv: Sequence[str], error: BaseException) -> int:
    """Says what went wrong, in a line if it is the user's to mend; returns the exit code."""
    from cutaway.commands.failures import sentence

    told = sentence(error)
    ours = not told and _is_ours(error)
    code = 1 if ours else 2
    if _tells():
        if ours or os.environ.get("CUTAWAY_TRACEBACK"):
            import traceback

            traceback.print_exception(error)
        name = argv[0] if len(argv[0]) <= 20 else f"{argv[0][:20]}…"
        line = f"cutaway {name}: {_in_flags(told or error)}"
        fault = "cutaway: this is a fault of Cutaway: please report it with the lines above"
        print(fault if ours else line, file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # a full disk behind `> file`: Python would try again when it ends
        _drop_output()
    return code


def _drop_output() -> None:
    """Sends what is still to be printed nowhere, since there is no reader or no room."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: Sequence[str]) -> int:
    argv = _with_files(argv)
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview())
    elif argv[0] in ("-V", "--version"):
        from cutaway import __version__

        print(f"cutaway {__version__}")
    else:
        _run_verb(argv[0], argv[1:])
    sys.stdout.flush()  # a closed pipe is noticed here, not after the end
    return 0


def _run_verb(verb: str, argv: Sequence[str]) -> None:
    """Runs a command, or asks an ability of a run."""
    commands = COMMANDS | HIDDEN
    ability = None if verb in commands else find_ability(verb)
    if verb not in commands and ability is None:
        raise ValueError(_unknown_verb(verb))
    from cutaway.commands.messages import speak_of

    speak_of((), ())
    _warn_in_a_line()
    _expect_files()
    if ability is not None:
        from cutaway.commands.abilities import main as ask

        ask(ability, argv)
        return
    module, name = commands[verb][1].split(":")
    getattr(import_module(module), name)(argv)


def _with_files(argv: Sequence[str]) -> Sequence[str]:
    """Runs the files of leading `--with FILE`s, which register recipes, abilities or views; returns the rest."""
    while argv and (argv[0] == "--with" or argv[0].startswith("--with=")):
        _, equals, file = argv[0].partition("=")
        if not equals:
            if len(argv) < 2:
                raise ValueError("--with must have a file, got none; write `cutaway --with my.py VERB …`")
            file = argv[1]
        from cutaway.registry import run_file

        run_file(file)
        argv = argv[1 if equals else 2 :]
    return argv


def _in_flags(error: object) -> str:
    """A message in one line, with settings spelled as flags."""
    from cutaway.commands.messages import in_flags

    words = [word if len(word) <= LONGEST else f"{word[:LONGEST]}…" for word in str(error).split()]
    return in_flags(" ".join(words))


def _is_ours(error: BaseException) -> bool:
    """Whether an error is a fault in Cutaway: none of the kinds that our messages for users have."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "cutaway").startswith("cutaway")
    # FloatingPointError: a run that diverged. MemoryError: one that does not fit.
    return not isinstance(error, (ValueError, OSError, FloatingPointError, MemoryError))


def _tells() -> bool:
    """Whether to say what went wrong: of many processes (torchrun) that fail together, one does."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    from cutaway.training.processes.alone import reports_errors

    return reports_errors()


def _expect_files() -> None:
    """There must be room for the files that a command opens: compiled libraries panic where they cannot open one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, hard) and hard < FILES:
        raise ValueError(f"a command opens up to {FILES} files, got a limit of {hard}; raise it by `ulimit -n 1024`")
    if soft != resource.RLIM_INFINITY and soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))


def _warn_in_a_line() -> None:
    import warnings

    warnings.formatwarning = lambda message, *_, **__: f"cutaway: {_in_flags(message)}\n"


def _unknown_verb(verb: str) -> str:
    import difflib

    known = verbs()
    near = difflib.get_close_matches(verb, known, n=1)
    way = f"did you mean {near[0]}?" if near else "`cutaway --help` tells what each does"
    shown = verb if len(verb) <= 40 else f"{verb[:40]}…"
    return f"a verb must be one of {', '.join(known)}, got {shown!r}; {way}"


def verbs() -> dict[str, str]:
    """Every verb with its line of help: commands, then abilities."""
    return {verb: help for verb, (help, _) in COMMANDS.items()} | known_verbs()


def overview() -> str:
    """What `cutaway --help` shows."""
    abilities = known_verbs()
    wide = max(map(len, [*COMMANDS, *abilities]))
    return "\n".join(
        [
            "Cutaway: deep learning with the covers off.",
            "",
            "usage: cutaway VERB [flags]",
            "",
            "verbs:",
            *(f"  {verb:<{wide}}  {help}" for verb, (help, _) in COMMANDS.items()),
            "",
            "asked of a trained run:",
            *(f"  {verb:<{wide}}  {help}" for verb, help in abilities.items()),
            "",
            "`cutaway VERB --help` shows the flags of a verb, with examples.",
            "",
            "start here:",
            "  cutaway demo                    the tour, in about a minute",
            "  cutaway train gpt               a language model of Python's documentation",
            "  cutaway generate runs/gpt-1     what it writes",
            "  cutaway look runs/gpt-1         what is inside it, as a page of pictures",
            "",
            "  --version                       print the version",
            "  --with FILE VERB …              run a FILE of yours first",
            "  --print-completion SHELL        print a completion script: bash, zsh or fish",
        ]
    )
