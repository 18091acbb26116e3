"""A terminal for tests: runs a command with a pseudo-terminal of a given width as its input, output and errors."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path


def at_terminal(argv: list[str], folder: Path, columns: int = 80) -> tuple[int, str]:
    """The exit code of `cutaway` with these words, and all that the terminal shows."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "cutaway", *argv],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=folder,
        env=environment | {"TERM": "xterm-256color"},
        close_fds=True,
    ) as process:
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # Linux ends a terminal that nobody writes to any more by an error
            while piece := os.read(mine, 4096):
                shown += piece
        os.close(mine)
    return process.returncode, shown.decode().replace("\r\n", "\n")
