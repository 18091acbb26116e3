"""`cutaway test RUN`: the test split, once."""

import json
import sys
from typing import Any

from cutaway.waiting import telling_waits

_NAIVE = "baseline_"  # the names of a baseline's figures begin so


def main(asked: Any) -> None:
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
