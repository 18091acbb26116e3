"""What a tagger is given: files of several kinds, texts, and how texts are split."""

import pytest

from cutaway.data.text.conllu import Sentence
from cutaway.tasks.texts.tag import read_source, split_text


def test_sources(tmp_path):
    row = "\t_" * 8
    (tmp_path / "a.conllu").write_text(f"1\tHi{row}\n\n")
    (tmp_path / "stdin").write_text(f"# text = Hi\n1\tHi{row}\n\n")
    (tmp_path / "b.tsv").write_text("Hi\nthere\n")
    (tmp_path / "c.txt").write_text("Hi there.\n\nBye.\n")
    for name, words in (("a.conllu", ["Hi"]), ("stdin", ["Hi"]), ("b.tsv", ["Hi", "there"])):
        (found,) = read_source(str(tmp_path / name))
        assert isinstance(found, Sentence)
        assert found.words == words
    assert read_source(str(tmp_path / "c.txt")) == ["Hi there.", "", "Bye."]
    assert read_source("Hi there.") == ["Hi there."]
    assert read_source("x" * 5000) == ["x" * 5000]  # too long for the name of a file
    (tmp_path / "d.conllu").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"a file to tag must have sentences, got .*d.conllu with none"):
        read_source(str(tmp_path / "d.conllu"))


def test_splitting():
    text = "don't f('a b')"
    assert split_text(text, "spaces", "") == ["don't", "f('a", "b')"]
    assert split_text(text, "auto", "my.conllu")[:2] == ["do", "n't"]
    assert split_text("f('a b')", "auto", "python-roles") == ["f", "(", "'a b'", ")"]
    assert split_text("f('a b')", "python", "") == ["f", "(", "'a b'", ")"]
