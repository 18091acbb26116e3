"""The deadline of `make slow`: no test begins after it, and none is silently left out."""

import pytest

TWO = "def test_one(): pass\ndef test_two(): pass\n"


@pytest.mark.parametrize("minutes", [[], ["--minutes", "60"]], ids=["no deadline", "time enough"])
def test_all_tests_run_in_time(pytester: pytest.Pytester, minutes: list[str]):
    pytester.makepyfile(test_file=TWO)
    ran = pytester.runpytest_inprocess("-p", "minutes", *minutes)
    ran.assert_outcomes(passed=2)
    ran.stdout.no_fnmatch_line("*not reached*")


def test_what_was_not_reached_is_named(pytester: pytest.Pytester):
    pytester.makepyfile(test_file=TWO)
    ran = pytester.runpytest_inprocess("-p", "minutes", "--minutes", "0")
    ran.assert_outcomes(skipped=2)
    named = ["*2 tests were not reached within the minutes given*", "test_file.py::test_one", "test_file.py::test_two"]
    ran.stdout.fnmatch_lines(named)
