"""`cutaway test RUN`: the test split, once."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags
from cutaway.waiting import telling_waits

_NAIVE = "baseline_"  # the names of a baseline's figures begin so


@dataclass(frozen=True)
class Test:
    """Reads the test split of a run, once, and prints the metrics, which the run folder and its report then hold.

    The test split is for one last look. To choose between models, compare their validation metrics.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway test runs/gpt-1",
        "cutaway test runs/mlp-1 --json",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    unfinished: bool = False
    """read the test split of a run that is not finished, with its newest weights"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Test, "cutaway test", argv)
    from cutaway.runs.execution import load
    from cutaway.runs.report_page import report_run

    run = load(asked.run)
    again = (run.path / "test.json").is_file()
    with telling_waits("measuring on the test split"):
        metrics = run.test(asked.unfinished)
    if not again:
        with telling_waits("drawing the report"):
            report_run(run)
    if asked.json:
        json.dump(metrics | {"first_reading": not again}, sys.stdout)
        print()
        return
    naive = {name: value for name, value in metrics.items() if name.startswith(_NAIVE)}
    print("  ".join(f"test {name} {value:.4f}" for name, value in metrics.items() if name not in naive))
    if naive:
        print(f"baseline: {'  '.join(f'{name.removeprefix(_NAIVE)} {value:.4f}' for name, value in naive.items())}")
    print("(as noted when the test split was read)" if again else "(the test split is now read; this is the figure)")
