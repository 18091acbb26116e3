"""A text is cut where no token can lie across the cut."""

import re

from cutaway.data.text import chunks
from cutaway.data.text.chunks import cut_safely, short_stretches
from cutaway.data.text.tokenizers import train_bpe


def test_text_without_spaces_is_cut_all_the_same(monkeypatch):
    monkeypatch.setattr(chunks, "_SHORTEST", 10)
    monkeypatch.setattr(chunks, "_LONGEST", 20)
    assert [len(piece) for piece in cut_safely(["x" * 30, "x" * 30])] == [20, 20, 20]


def test_short_stretches_are_the_same_text():
    text = "the cat " * 50 + "x" * 1000 + " and " + " " * 700 + "y"
    parts = list(short_stretches([text, "", "short"]))
    assert "".join(parts) == text + "short"
    assert all(not re.search(r"\S{257}|\s{257}", part) for part in parts)
    assert list(short_stretches(["text with spaces"])) == ["text with spaces"]


def test_a_bpe_learns_from_text_without_spaces():
    """300,000 characters in one stretch took most of a minute, and ten times as many ten hours."""
    text = "".join(chr(97 + i * i % 17) for i in range(300_000))
    tokenizer = train_bpe([text], 300)
    assert tokenizer.vocabulary == 300
    assert tokenizer.decode(tokenizer.encode(text[:1000])) == text[:1000]
