"""A text is cut where no token can lie across the cut."""

from cutaway.data.text import chunks
from cutaway.data.text.chunks import cut_safely


def test_text_without_spaces_is_cut_all_the_same(monkeypatch):
    monkeypatch.setattr(chunks, "_SHORTEST", 10)
    monkeypatch.setattr(chunks, "_LONGEST", 20)
    assert [len(piece) for piece in cut_safely(["x" * 30, "x" * 30])] == [20, 20, 20]
