"""Processes of their own without the price of importing torch: a server imports it once, and forks them."""

import multiprocessing
import os
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.context import ForkServerContext
from pathlib import Path


def server() -> ForkServerContext:
    os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that spin while they wait starve each other on a busy machine
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["killing", "cutaway.runs.execution", "torch._dynamo"])
    return context


def run_script(script: Path, folder: Path) -> tuple[int, str]:
    """The exit code of a script run in ``folder``, and what it printed."""
    printed = folder / "printed.txt"
    process = server().Process(target=_run, args=(script, folder, printed))
    process.start()
    process.join(300)
    if process.is_alive():
        process.kill()
    process.join()
    assert process.exitcode is not None
    return process.exitcode, printed.read_text(encoding="utf-8")


def _run(script: Path, folder: Path, printed: Path) -> None:
    import traceback

    os.chdir(folder)
    sys.argv, sys.path[0:0] = [str(script)], [str(script.parent)]
    with printed.open("w", encoding="utf-8") as out, redirect_stdout(out), redirect_stderr(out):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except BaseException:
            traceback.print_exc()
            raise
