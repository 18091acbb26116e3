"""Ratios of two things measured in the same run, turn by turn, so that a slow moment of the machine hits both."""

import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch


def time_once(work: Callable[[], object], number: int) -> float:
    started = time.perf_counter()
    for _ in range(number):
        work()
    return (time.perf_counter() - started) / number


def compare(works: dict[str, Callable[[], object]], repeats: int = 7, number: int = 1) -> dict[str, float]:
    """The median seconds of each work, all taking turns."""
    for work in works.values():
        work()  # warm-up: allocations, caches, lazy imports
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(time_once(work, number))
    return {name: statistics.median(values) for name, values in times.items()}


def machine() -> str:
    """The processor, threads and versions that a figure belongs to."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        name = next(
            (x.split(":")[1].strip() for x in info.read_text().splitlines() if x.startswith("model name")), name
        )
    return f"{name}, {torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"


def show(title: str, rows: list[tuple[str, str]]) -> None:
    print(f"\n{title}\n{machine()}")
    wide = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{wide}}  {value}")
