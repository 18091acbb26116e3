"""`make kernels` sees that a family of kernels is in effect before its tests run, and names a setting that failed."""

import os
import subprocess
import sys
from pathlib import Path

import other_kernels
import pytest
from other_kernels import FAMILIES, NUMERIC, environment, kernels_in_effect, not_in_effect, possible

HERE = Path(__file__).parent


def test_plain_kernels_take_effect():
    """Any processor has them."""
    assert not_in_effect(FAMILIES["plain"], kernels_in_effect(environment(FAMILIES["plain"]))) == []


def test_a_setting_that_took_no_effect_is_told():
    family = FAMILIES["plain"]
    said = {"torch": "AVX2", "onednn": "Intel SSE4.1", "openblas": "Nehalem", "mkl": "COMPATIBLE", "threads": "2"}
    assert not_in_effect(family, said) == [
        "torch should say 'DEFAULT', it says 'AVX2'",
        "threads should say '1', it says '2'",
    ]
    assert not_in_effect(family, {**said, "torch": "DEFAULT", "threads": "1", "mkl": "not used by this build"}) == []


def test_kernels_that_the_processor_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    ran = []
    monkeypatch.setattr(other_kernels, "kernels_in_effect", lambda variables: {"torch": "DEFAULT", "threads": "1"})
    monkeypatch.setattr(other_kernels, "not_in_effect", lambda family, said: [])

    def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess:
        ran.append(env["OPENBLAS_CORETYPE"])
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    assert other_kernels.main() == 1
    assert ran == ["Nehalem"]
    told = capsys.readouterr().out
    assert "avx512: left out, this processor has DEFAULT at most" in told
    assert "failed with the kernels of plain" in told
    assert possible(FAMILIES["avx2"], "AVX512")
    assert not possible(FAMILIES["avx512"], "AVX2")


def test_numeric_tests_are_there_and_marked():
    for name in NUMERIC:
        assert (HERE / name).exists()
    chosen = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "kernels", "tests/blocks/norms"]
    plain = dict(os.environ, CUTAWAY_TYPECHECK="0")
    listed = subprocess.run(chosen, cwd=HERE.parent, env=plain, capture_output=True, text=True).stdout
    assert "test_layer.py" in listed
    assert "deselected" not in listed
