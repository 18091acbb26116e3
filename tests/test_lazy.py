"""Lazy names: imported when they are first used, then held by the package."""

import sys
from pathlib import Path

import pytest

from cutaway.lazy import lazy

PACKAGE = """
from cutaway.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {"answer": "numbers", "missing": "numbers"})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "a_lazy_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "numbers.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import a_lazy_package

    yield a_lazy_package
    for name in [name for name in sys.modules if name.startswith("a_lazy_package")]:
        del sys.modules[name]


def test_a_name_is_imported_when_it_is_used(package):
    assert "a_lazy_package.numbers" not in sys.modules
    assert package.answer == 42
    assert "a_lazy_package.numbers" in sys.modules
    assert vars(package)["answer"] == 42  # the next use asks nobody
    assert dir(package) == ["answer", "missing"]


def test_an_unknown_name_says_what_there_is(package):
    with pytest.raises(
        AttributeError, match="module 'a_lazy_package' has no attribute 'anwser'; it has: answer, missing"
    ):
        _ = package.anwser


def test_a_name_that_its_module_lacks_is_an_error(package):
    with pytest.raises(AttributeError, match=r"module 'a_lazy_package.numbers' has no attribute 'missing'"):
        _ = package.missing


def test_the_functions_know_their_package():
    get, names = lazy("cutaway", {"b": "x", "a": "y"})
    assert names() == ["a", "b"]
    with pytest.raises(AttributeError, match="module 'cutaway' has no attribute 'c'; it has: a, b"):
        get("c")
