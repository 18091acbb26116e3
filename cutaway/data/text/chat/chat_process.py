r"""Chat templates run in a process of their own, which may take so much memory and time and no more.

    this process    request →     template, messages, values         JSON, after its length in 8 bytes
                    ← answer      {"text": …} or {"error": …}        JSON: nothing of it is executed here

A template is a program that came with a checkpoint. Jinja's sandbox keeps it from files, but any text method, filter
or loop can fill the memory, so the operating system sets the bounds: address space by `resource.setrlimit`, processor
time by a timer whose signal ends the process, and this side gives up after a while by the clock. One process renders
all chats, one after another: a request takes about a tenth of a millisecond.

Where there is no `resource` (Windows), the clock alone bounds a template; where no process can be started, templates
run in this one, with the bounds of the sandbox alone, and a warning says so.
"""

import atexit
import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from cutaway.data.text.chat.chat_sandbox import LONGEST, failure_of, forget_templates, render_template

SECONDS = 1.0  # of processor time for one chat
PATIENCE = 10.0  # seconds by the clock, on a machine that is busy with other things
START = 120.0  # seconds by the clock until a new process must answer
MEMORY = 512 << 20  # bytes that a template may take
WRITTEN = 1_000_000  # characters of its own that it may write into one chat
_TIMES = 16  # as much for each byte of the messages: a template may write them several times
_MODULE = "cutaway.data.text.chat.chat_process"


class NoProcess(Exception):  # noqa: N818 -- a signal inside this module
    """No process can be started here."""


class ChatProcess:
    """A process that renders templates for this one, and is started again after a template that broke its bounds."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew, as after a fork: the process belongs to the one that started it."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._impossible = ""  # why none can be started here

    def render(self, template: str, messages: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> str:
        """The text of a chat. A template that fails, or that takes too much, is a ValueError that says why."""
        request = _as_json({"template": template, "messages": list(messages), "values": dict(values)})
        with self._lock:
            process = self._running()
            try:
                answer = _within(PATIENCE, process, partial(_ask, process, request))
            except BaseException:  # also Ctrl-C: what it would still answer belongs to no question
                self.end()
                raise
            if broken := answer is None or answer.get("error") == "memory":
                self.end()
        if broken or answer is None:
            raise ValueError(
                f"must need at most {SECONDS:g} second and {MEMORY >> 20} MB for a chat, got one that takes more, or "
                f"that writes {WRITTEN:,} characters of its own; it may be broken or mean harm: look at it, take "
                "another checkpoint, or write the prompt yourself"
            )
        if "error" in answer:
            raise ValueError(
                f"must be able to write the messages, got {answer['error']}; see which roles and order it asks for"
            )
        return str(answer["text"])

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        if self._impossible:
            raise NoProcess(self._impossible)
        try:
            self._process = _start()
            hello = _as_json({"template": "", "messages": [], "values": {}})
            if _within(START, self._process, partial(_ask, self._process, hello)) is None:
                raise NoProcess("it ended before it answered")
        except NoProcess as error:
            self.end()
            self._impossible = str(error)
            raise
        return self._process

    def end(self) -> None:
        """Ends the process, if there is one."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _start() -> "subprocess.Popen[bytes]":
    if not sys.executable or getattr(sys, "frozen", False):
        raise NoProcess("Python has no interpreter of its own")
    path = [str(Path(__file__).parents[4]), *filter(None, sys.path)]
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        )
    except (OSError, ValueError) as error:
        raise NoProcess(str(error)) from None


def _within(seconds: float, process: "subprocess.Popen[bytes]", ask: Any) -> dict[str, Any] | None:
    """The answer of a process, which is ended if it takes longer; None if it ended."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        return ask()
    finally:
        timer.cancel()


def _ask(process: "subprocess.Popen[bytes]", request: bytes) -> dict[str, Any] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_block(process.stdin, request)
        found = read_block(process.stdout, most=_TIMES * (len(request) + LONGEST))
        return None if found is None else json.loads(found)
    except (OSError, ValueError):  # it ended in the middle
        return None


def _as_json(value: Any) -> bytes:
    """Messages and values as JSON; what has no such form is named."""
    try:
        return json.dumps(value, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"must be given plain data (texts, numbers, lists, dicts), got other values ({error}); convert them first"
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a {type(value).__name__}")


def write_block(file: IO[bytes], content: bytes) -> None:
    file.write(len(content).to_bytes(8, "little") + content)
    file.flush()


def read_block(file: IO[bytes], most: int = sys.maxsize) -> bytes | None:
    """The next block of a pipe; None at its end, and of one that is too long."""
    beginning = file.read(8)
    size = int.from_bytes(beginning, "little")
    if len(beginning) < 8 or size > most:
        return None
    content = file.read(size)
    return content if len(content) == size else None


_process = ChatProcess()
atexit.register(_process.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)


def render_bounded(template: str, messages: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> str:
    """The text of a chat, rendered in a process with bounds; in this one, where none can be started."""
    try:
        return _process.render(template, messages, values)
    except NoProcess as error:
        warnings.warn(
            f"chat templates run without bounds on memory and time, as no process can be started here ({error}); "
            "take templates from checkpoints that you trust",
            stacklevel=4,
        )
    try:
        return render_template(template, messages, values)
    except Exception as error:
        if (failure := failure_of(error)) is None:
            raise
        raise ValueError(
            f"must be able to write the messages, got {failure}; see which roles and order it asks for"
        ) from None


# ----------------------------------------------------------------------------------------------------------------------
# In the process of its own.


def serve(requests: IO, answers: IO) -> None:
    """Answers one request after another, until there are no more."""
    bound_memory, bound_time = _bounds()
    while (content := read_block(requests)) is not None:
        bound_memory(MEMORY + _TIMES * len(content))
        bound_time(SECONDS)
        answer = answer_to(content)
        bound_time(0.0)
        write_block(answers, answer)


def answer_to(content: bytes) -> bytes:
    """The answer to one request."""
    longest = WRITTEN + _TIMES * len(content)
    try:
        asked = json.loads(content)
        try:
            text = render_template(asked["template"], asked["messages"], asked["values"])
        except MemoryError:  # templates before it may hold the memory
            forget_templates()
            text = render_template(asked["template"], asked["messages"], asked["values"])
        if len(text) > longest:
            return b'{"error": "memory"}'
        return json.dumps({"text": text}).encode()
    except MemoryError:
        return b'{"error": "memory"}'
    except Exception as error:
        said = failure_of(error) or f"{type(error).__name__}: {str(error)[:1000]}"
        return json.dumps({"error": said}).encode()


def _bounds() -> tuple[Any, Any]:
    """Functions that bound the memory and the processor time of this process, where it can be bounded."""
    try:
        resource = importlib.import_module("resource")
        signal = importlib.import_module("signal")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the timer ends this process
    except (ImportError, AttributeError):
        return (lambda size: None), (lambda seconds: None)
    most = resource.getrlimit(resource.RLIMIT_AS)[1]

    def bound_memory(size: int) -> None:
        size = size if most == resource.RLIM_INFINITY else min(size, most)
        with contextlib.suppress(ValueError, OSError):  # systems that have no such bound
            resource.setrlimit(resource.RLIMIT_AS, (size, most))

    def bound_time(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)

    return bound_memory, bound_time


def main() -> NoReturn:
    """Serves the process that started this one, until it closes the pipe."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr  # nothing else is written into the pipe of answers
    serve(requests, answers)
    sys.exit(0)


__all__ = ["main"]

if __name__ == "__main__":
    main()
