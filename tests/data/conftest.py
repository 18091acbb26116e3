"""Every test of the data part has a cache of its own."""

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("CUTAWAY_CACHE", str(folder))
    return folder
