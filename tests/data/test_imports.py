"""Importing the data part is cheap, its names are those it says, and what is missing is named."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cutaway.data

HEAVY = ("numpy", "pandas", "sklearn", "tokenizers", "torch")


def imported(code):
    command = f"import sys; {code}; print(*[name for name in {HEAVY} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.split()


def test_heavy_libraries_wait_until_they_are_used():
    assert imported("import cutaway.data") == []
    assert imported("import cutaway.data; cutaway.data.list_samples()") == []
    assert imported("from cutaway.data import read_text, read_pairs, read_table, open_data") == ["numpy", "tokenizers"]


def test_every_name_is_there_and_in_the_stub():
    stub = Path(cutaway.data.__file__).with_name("__init__.pyi").read_text()
    modules = {path.stem for path in Path(cutaway.data.__file__).parent.glob("*.py")}
    for name in cutaway.data.__all__:
        assert getattr(cutaway.data, name).__name__ == name
        assert f"{name} as {name}" in stub
        assert name not in modules
    assert stub.count(" as ") == len(cutaway.data.__all__)
    assert dir(cutaway.data) == sorted(cutaway.data.__all__)
    with pytest.raises(AttributeError, match=r"module 'cutaway.data' has no attribute 'read_txt'; it has: Batches, "):
        cutaway.data.read_txt  # noqa: B018


def test_files_say_what_they_export():
    root = Path(cutaway.data.__file__).parent
    for path in [root / "__init__.py", *(path for path in root.rglob("*.py") if path.stem != "__init__")]:
        parts = path.relative_to(root).with_suffix("").parts
        module = import_module(".".join(["cutaway.data", *parts]).removesuffix(".__init__"))
        assert module.__all__
        assert all(hasattr(module, name) for name in module.__all__)
