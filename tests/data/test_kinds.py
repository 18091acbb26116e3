"""What kind of data a path holds."""

import json
from pathlib import Path

import numpy as np
from tiny_bases import chats as write_chats
from tiny_bases import reviews

from cutaway.data.kinds import (
    chats,
    images,
    labelled_texts,
    many_graphs,
    plain_texts,
    tagged_texts,
    text_pairs,
)

KINDS = {"labelled": labelled_texts, "tagged": tagged_texts, "plain": plain_texts, "chats": chats, "images": images}


def kinds(data: object) -> list[str]:
    return [name for name, kind in KINDS.items() if kind(data)]


def test_each_form_is_known(tmp_path: Path):
    assert kinds(reviews(tmp_path / "a.csv")) == ["labelled"]
    assert kinds(write_chats(tmp_path / "a.jsonl")) == ["chats"]
    asked = tmp_path / "asked.jsonl"
    asked.write_text(json.dumps({"prompt": "a", "response": "b"}) + "\n")
    assert kinds(asked) == ["chats"]
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({"text": "a", "label": "b"}) + "\n")
    assert kinds(labels) == ["labelled"]
    sentences = tmp_path / "sentences.tsv"
    sentences.write_text("Where is Tom?\t¿Dónde está Tom?\nGo.\tVete.\n", encoding="utf-8")
    assert text_pairs(sentences) == "pairs of sentences"
    assert not KINDS["labelled"](sentences)
    (tmp_path / "novel.txt").write_text("a")
    assert kinds(tmp_path / "novel.txt") == ["plain"]
    (tmp_path / "s.conllu.xz").write_bytes(b"")
    assert kinds(tmp_path / "s.conllu.xz") == ["tagged"]
    folder = tmp_path / "classes"
    for name in ("good", "bad"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.txt").write_text("a")
    assert kinds(folder) == ["labelled"]
    pictures = tmp_path / "pictures" / "cats"
    pictures.mkdir(parents=True)
    (pictures / "1.png").write_bytes(b"")
    assert kinds(pictures.parent) == ["images"]
    assert kinds("digits") == ["images"]
    assert kinds("python-modules") == ["labelled"]
    assert kinds("python-docs") == ["plain"]
    assert kinds("python-roles") == ["tagged"]
    assert kinds({"text": ["a"], "label": ["b"]}) == ["labelled"]
    assert kinds(np.zeros((2, 8, 8))) == ["labelled", "images"] or kinds(np.zeros((2, 8, 8))) == ["images"]


def test_files_in_other_encodings_are_looked_at(tmp_path: Path):
    """Whether they can be read is for the task to say, which knows the encoding."""
    table = tmp_path / "a.csv"
    table.write_bytes("text,label\ncaf\u00e9,a\n".encode("latin-1"))
    assert kinds(table) == ["labelled"]
    assert many_graphs(table) == ""
    table.write_bytes("text,label\nfine,a\n".encode("utf-16"))
    assert many_graphs(table) == ""


def test_words_with_tags_are_known_whatever_the_ending(tmp_path: Path):
    columns = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\nran VBD B-VP O\n"
    tabs = "The\tDET\ndog\tNOUN\n\nA\tDET\ncat\tNOUN\n"
    for name, text in (("eng.train", columns), ("words.txt", tabs), ("words.tsv", tabs), ("words", columns)):
        (tmp_path / name).write_text(text)
        assert kinds(tmp_path / name) == ["tagged"], name
    folder = tmp_path / "conll2003"
    folder.mkdir()
    for part in ("train", "valid", "test"):
        (folder / f"{part}.txt").write_text(columns)
    assert kinds(folder) == ["tagged"]
    (tmp_path / "poem.txt").write_text("Roses are red\nViolets are blue\n\nSugar is sweet\nAnd so are you\n")
    assert kinds(tmp_path / "poem.txt") == ["plain"]
    (tmp_path / "labelled.tsv").write_text("so good\tpos\nso bad\tneg\n")
    assert kinds(tmp_path / "labelled.tsv") == ["labelled"]
