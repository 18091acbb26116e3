"""Freed memory is kept while a training runs: the next step takes it without a page fault. Settings are taken back."""

import sys

import pytest
import torch

from cutaway.training import freed_memory
from cutaway.training.freed_memory import keep_freed_memory


class Library:
    """A C library that writes down what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, ...]] = []

    def mallopt(self, setting: int, value: int) -> None:
        self.told.append((setting, value))

    def malloc_trim(self, room: int) -> None:
        self.told.append((room,))


@pytest.mark.skipif(freed_memory._glibc() is None, reason="another C library")
def test_what_a_step_frees_the_next_one_takes_without_a_page_fault(monkeypatch):
    import resource

    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step = lambda: [torch.ones(2**21) for _ in range(2)]  # twice 8 MB, 4096 pages, freed at once
    with keep_freed_memory():
        step()
        before = faults()
        for _ in range(20):
            step()
        assert faults() - before < 4 * 4096  # of 20 × 4096


def test_settings_are_taken_back_after_an_error_too(monkeypatch):
    library = Library()
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    monkeypatch.setattr(freed_memory, "_glibc", lambda: library)
    with pytest.raises(KeyError), keep_freed_memory():
        assert library.told == [(-3, 32 * 2**20), (-1, 2**31 - 1)]
        raise KeyError("a broken step")
    assert library.told[2:] == [(-1, 64 * 2**20), (0,)]


def test_what_the_user_set_stays(monkeypatch):
    library = Library()
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    monkeypatch.setattr(freed_memory, "_glibc", lambda: library)
    with keep_freed_memory():
        pass
    assert library.told == []


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert freed_memory._glibc() is None
