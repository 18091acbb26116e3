"""Looking costs nothing before someone looks."""

import subprocess
import sys

import pytest

import cutaway.look


def test_importing_look_imports_nothing_heavy():
    code = "import sys, cutaway.look; print(*{'torch', 'numpy', 'altair', 'vl_convert'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_altair_waits_for_a_picture():
    code = (
        "import sys, cutaway.look as look\n"
        "for name in look.__all__: getattr(look, name)\n"
        "print('altair' in sys.modules)\n"
        "look.curves([{'step': 1, 'loss': 2.0}])\n"
        "print('altair' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "True"]


def test_public_names():
    assert dir(cutaway.look) == sorted(cutaway.look.__all__)
    for name in cutaway.look.__all__:
        assert getattr(cutaway.look, name).__name__ == name
    with pytest.raises(
        AttributeError, match=r"'cutaway.look' has no attribute 'piechart'; it has: .*Facts, .*Page, Picture"
    ):
        _ = cutaway.look.piechart
