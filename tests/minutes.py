"""`pytest --minutes 20` begins no test after twenty minutes, and names at the end those that it did not reach."""

import time

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "begin no test after so many minutes; those that were not reached are named at the end"
    parser.addoption("--minutes", type=float, default=None, help=told)


END = pytest.StashKey[float]()
NOT_REACHED = "not reached within the minutes given"


def pytest_configure(config: pytest.Config) -> None:
    minutes = config.getoption("--minutes")
    config.stash[END] = float("inf") if minutes is None else time.monotonic() + 60 * minutes


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() >= item.config.stash[END]:
        pytest.skip(NOT_REACHED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.getreports("skipped")
    names = [report.nodeid for report in skipped if NOT_REACHED in str(report.longrepr)]
    if names:
        terminalreporter.section(f"{len(names)} tests were {NOT_REACHED}")
        for name in names:
            terminalreporter.line(name)
