"""Libraries that are not there are missed by name."""

import pytest

from cutaway.extras import need


def test_a_missing_library_is_missed_by_name():
    with pytest.raises(
        ModuleNotFoundError,
        match=r"that needs no_such_library, which is not installed; run pip install 'cutaway\[tables\]'",
    ):
        need("no_such_library.part", "tables", "that")


def test_an_error_inside_a_library_is_its_own(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import not_there_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'not_there_either'"):
        need("broken_library", "tables", "that")
