r"""The progress of a run as it is shown: a bar in the terminal, plain lines in a file, JSON lines for programs."""

import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cutaway.overriding import override
from cutaway.training.callbacks import Callback
from cutaway.training.run_folder.folder import json_line
from cutaway.visible_text import raw_stream, visible

if TYPE_CHECKING:
    from cutaway.training.loop import Loop

KINDS = ("auto", "bar", "lines", "json", "quiet")
_SILENCE = 20.0  # seconds: how long plain lines may keep a person waiting


def count_parameters(loop: "Loop") -> int:
    return sum(p.numel() for p in loop.model.parameters())


def kind_of(loop: "Loop") -> str:
    """The name of the model's class, also where the model is sharded."""
    return type(loop.model).__name__.removeprefix("FSDP")


def header(loop: "Loop") -> list[str]:
    """Lines that say what is trained, on which data and device, and into which folder."""
    lines = str(loop.job.data.get("summary", "")).splitlines()
    many = f" of {loop.processes.world} processes ({loop.processes.strategy})" if loop.processes.world > 1 else ""
    lines.append(f"model: {kind_of(loop)}, {count_parameters(loop):,} parameters, on {loop.device}{many}")
    if loop.folder is not None:
        lines.append(f"run: {loop.folder.path}" + (f", from step {loop.step} on" if loop.step else ""))
    return lines


def tell(text: str) -> None:
    """Prints a text. The run goes on without printing if its reader goes away (`cutaway train gpt | head`)."""
    try:
        print(visible(text), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Pace:
    """How fast the run goes, and how long it has left. A process's first step, the slowest, does not count."""

    def __init__(self) -> None:
        self._began: tuple[float, int, float, int] | None = None

    def note(self, loop: "Loop") -> None:
        if self._began is None:
            self._began = (time.perf_counter(), loop.step, loop.seconds, loop.taken)

    def speed(self, loop: "Loop") -> float | None:
        """Units a second in steps alone, without evaluations."""
        if self._began is None or loop.seconds <= self._began[2]:
            return None
        return (loop.taken - self._began[3]) * loop.job.units / (loop.seconds - self._began[2])

    def seconds_left(self, loop: "Loop") -> float | None:
        """Until the last step, with evaluations."""
        if self._began is None or not self._began[1] < loop.step < loop.steps:
            return None
        return (time.perf_counter() - self._began[0]) / (loop.step - self._began[1]) * (loop.steps - loop.step)

    def shown(self, loop: "Loop") -> str:
        """Losses, speed and time left, as far as they are known."""
        parts = []
        if "loss" in loop.metrics:
            parts.append(f"loss {loop.metrics['loss']:.3f}")
        score = loop.metrics.get(f"validation_{loop.job.better}")
        if score is not None:
            name = "" if loop.job.better == "loss" else f"{loop.job.better.replace('_', ' ')} "
            parts.append(f"validation {name}{score:.3f}")
        speed, left = self.speed(loop), self.seconds_left(loop)
        if speed is not None:
            parts.append(f"{speed:,.0f} {loop.job.unit}/s")
        if left is not None:
            parts.append(f"{clock(left)} left")
        return "  ".join(parts)


def clock(seconds: float) -> str:
    """
    >>> clock(75.2), clock(3600)
    ('1:15', '1:00:00')
    """
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


class Bar(Callback):
    """A header, then a progress bar with loss, validation loss, speed and time left."""

    def __init__(self) -> None:
        self.pace = Pace()
        self.progress: Any = None

    @override
    def start(self, loop: "Loop") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(file=raw_stream(sys.stderr), highlight=False)
        for line in header(loop):
            console.print(visible(line), markup=False)
        columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TextColumn("{task.fields[shown]}", markup=False))
        self.progress = Progress(*columns, console=console, refresh_per_second=5, expand=True)
        self.task = self.progress.add_task("", total=loop.steps, shown="")
        self.progress.start()
        self._last = 0.0

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self.pace.note(loop)
        now = time.perf_counter()
        if now - self._last >= 0.2 or loop.step == loop.steps:
            self._last = now
            self._update(loop)

    @override
    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self._update(loop)

    @override
    def note(self, loop: "Loop", text: str) -> None:
        self.progress.console.print(text, markup=False)

    def _update(self, loop: "Loop") -> None:
        self.progress.update(self.task, completed=loop.step, shown=self.pace.shown(loop))

    @override
    def end(self, loop: "Loop") -> None:
        self._update(loop)
        self.progress.stop()


class Lines(Callback):
    """A header, then a line at every evaluation, for logs and pipes."""

    def __init__(self) -> None:
        self.pace = Pace()

    @override
    def start(self, loop: "Loop") -> None:
        tell("\n".join(header(loop)))
        self._last = time.perf_counter()

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self.pace.note(loop)
        if loop.step % loop.plan.log_every == 0 and time.perf_counter() - self._last > _SILENCE:
            self._print(loop)

    @override
    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self._print(loop)

    @override
    def note(self, loop: "Loop", text: str) -> None:
        self._last = time.perf_counter()
        tell(text)

    def _print(self, loop: "Loop") -> None:
        self._last = time.perf_counter()
        tell(f"step {loop.step}/{loop.steps}  {self.pace.shown(loop)}".rstrip())


class JsonLines(Callback):
    """A JSON object on a line of its own for every event: start, train, validation, checkpoint, note, end."""

    def __init__(self) -> None:
        self.pace = Pace()

    @override
    def start(self, loop: "Loop") -> None:
        self._tell(
            loop,
            "start",
            steps=loop.steps,
            data=loop.job.data.get("summary"),
            model=kind_of(loop),
            parameters=count_parameters(loop),
            device=str(loop.device),
            processes=loop.processes.world,
        )

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self.pace.note(loop)
        if loop.step % loop.plan.log_every == 0:
            speed, left = self.pace.speed(loop), self.pace.seconds_left(loop)
            self._tell(loop, "train", **metrics, speed=speed, unit=f"{loop.job.unit}/s", seconds_left=left)

    @override
    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self._tell(loop, "validation", **metrics)

    @override
    def checkpoint(self, loop: "Loop") -> None:
        self._tell(loop, "checkpoint")

    @override
    def note(self, loop: "Loop", text: str) -> None:
        self._tell(loop, "note", text=text)

    @override
    def end(self, loop: "Loop") -> None:
        whole = {name: value for name, value in loop.metrics.items() if name.startswith("whole_validation_")}
        self._tell(loop, "end", finished=loop.finished, why_stopped=loop.why_stopped or None, **whole)

    def _tell(self, loop: "Loop", event: str, **more: Any) -> None:
        run = None if loop.folder is None else str(loop.folder.path)
        tell(json_line({"event": event, "run": run, "step": loop.step, **more}))


def progress_for(show: str) -> list[Callback]:
    """``show``: auto (a bar in a terminal, else lines), bar, lines, json or quiet."""
    if show not in KINDS:
        raise ValueError(f"show must be one of {', '.join(KINDS)}, got {show!r}; pick one of these")
    if show == "auto":
        show = "bar" if sys.stderr.isatty() else "lines"
    kinds: dict[str, list[Callback]] = {"bar": [Bar()], "lines": [Lines()], "json": [JsonLines()], "quiet": []}
    return kinds[show]


def is_shown(progress: Iterable[Callback]) -> bool:
    """Whether a person looks on: by a bar or by lines."""
    return any(isinstance(callback, (Bar, Lines)) for callback in progress)
