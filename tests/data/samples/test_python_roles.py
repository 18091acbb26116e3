"""The roles of words in Python's lines, by hand."""

import pytest

from cutaway.data.samples.python_roles import _logical_lines, roles, split_python

CASES = {
    "def area(r, *, unit='m'): return pi * r": "keyword function sign parameter sign sign sign parameter sign string "
    "sign sign keyword variable sign variable",
    "x.y = f(len(a), key=b.c())": "variable sign attribute sign call sign builtin sign variable sign sign argument "
    "sign variable sign method sign sign sign",
    "from os.path import join as j": "keyword module sign module keyword imported keyword imported",
    "import os": "keyword module",
    "class A(Base): pass  # nothing": "keyword class sign variable sign sign keyword comment",
    "y = [i + 1.5 for i in x]": "variable sign sign variable sign number keyword variable keyword variable sign",
}


@pytest.mark.parametrize("code", CASES)
def test_roles(code):
    (line,) = _logical_lines(code)
    assert roles(line) == CASES[code].split()


def test_lines_and_their_words():
    assert split_python("a = (1 +\n  2)\n# note\nb") == [["a", "=", "(", "1", "+", "2", ")"], ["# note"], ["b"]]
    assert split_python("if x") == [["if", "x"]]
    assert split_python("f(") == [["f", "("]]  # unfinished
