"""The recipe tagger: it learns, its run opens again, it is tested, it tags texts and files, and it refuses bad data."""

import json
import shutil

import numpy as np
import pytest
from killing import expect_same_after_death
from trained import TAGGER_SETTINGS, little_treebank

import cutaway as cut
from cutaway.tasks.subjects import subject_of


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    return cut.load(shutil.copytree(trained("tagger"), tmp_path_factory.mktemp("tagger") / "run"))


def test_it_learns_from_the_words_around(run):
    last = run.metrics[-1]
    assert last["split"] == "validation-whole"
    assert last["accuracy"] == 1.0
    baseline = run.about["data"]["baseline"]
    assert baseline["metrics"]["accuracy"] < 0.9  # a word alone does not tell
    tested = run.test()
    assert tested["accuracy"] == 1.0
    assert tested["baseline_accuracy"] < 0.9


def test_tags_of_texts(run):
    again = cut.load(run.path)
    rows = again.predict("They talks. The zebras!")
    assert [(r["word"], r["tag"]) for r in rows][:3] == [("They", "PRON"), ("talks", "VERB"), (".", "PUNCT")]
    assert set(rows[0]) == {"sentence", "word", "tag", "probability", "probabilities"}
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1.0, abs=1e-5)
    assert rows[0]["probability"] == max(rows[0]["probabilities"].values())
    assert rows == run.predict(["They talks. The zebras!"])
    words = run.predict([["They", "talks"], ["The", "talks"]])
    assert [(r["sentence"], r["tag"]) for r in words] == [(1, "PRON"), (1, "VERB"), (2, "DET"), (2, "NOUN")]
    with pytest.raises(ValueError, match=r"a text to tag must have a word, got none"):
        run.predict("  ")


def test_a_file_comes_back_with_tags(run, tmp_path, capsys):
    from cutaway.cli import run as main

    path, out = tmp_path / "new.conllu", tmp_path / "tagged.conllu"
    new = (
        "# text = They runs\n1-2\tTheyruns"
        + "\t_" * 8
        + "\n1\tThey\tthey"
        + "\t_" * 7
        + "\n2\truns"
        + "\t_" * 8
        + "\n\n"
    )
    path.write_text(new, encoding="utf-8")
    main(["predict", str(run.path), str(path)])
    printed = capsys.readouterr().out
    assert printed == new.replace("1\tThey\tthey\t_", "1\tThey\tthey\tPRON").replace(
        "2\truns\t_\t_", "2\truns\t_\tVERB"
    )
    main(["predict", str(run.path), str(path), "--out", str(out)])
    assert out.read_text(encoding="utf-8") == printed
    main(["predict", str(run.path), str(path), "--json"])
    capsys.readouterr()
    main(["predict", str(run.path), "They runs", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["tag"] for row in rows] == ["PRON", "VERB"]
    assert set(rows[0]["probabilities"]) == {"DET", "NOUN", "PRON", "PUNCT", "VERB"}
    main(["predict", str(run.path), "They runs"])
    assert capsys.readouterr().out.splitlines()[0] == "sentence,word,tag,probability"


def test_the_subject_of_a_look(run):
    subject = subject_of(run, "They can't bark")
    assert subject.tokens == ("They", "ca", "n't", "bark")
    assert subject.output(run.model).shape == (1, 4, 5)
    assert len(subject_of(run).tokens) == 3
    assert subject_of(run, str(run.recipe.data)).tokens == ("The", "dogs", ".")  # the first of a file
    with pytest.raises(ValueError, match=r"a sentence to look at must have a word, got none"):
        subject_of(run, " ")


def test_columns_keys_and_files_of_their_own(tmp_path):
    rows = "".join(f"{'abc'[i % 3]}\tX\t{'B-A' if i % 3 else 'O'}\n\n" for i in range(30))
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.bio").write_text(rows if part != "dev" else rows + "w9\tX\tB-NEW\n\n", encoding="utf-8")
    run = cut.train(
        "tagger", data=str(tmp_path), out=tmp_path / "run", show="quiet", **TAGGER_SETTINGS | dict(steps=60)
    )
    summary = run.about["data"]["summary"]
    assert "that training has not: B-NEW (1 words, which count as wrong)" in summary
    assert run.metrics[-1]["span_f1"] <= 1.0
    assert run.test()["span_f1"] == 1.0


def test_given_vectors_are_taken(tmp_path):
    (tmp_path / "vectors.txt").write_text("dogs 1 2 3\nruns 4 5 6\nelephant 7 8 9\n")
    data = str(little_treebank(tmp_path))
    more = dict(vectors=str(tmp_path / "vectors.txt"), steps=2, vector_words=1)
    run = cut.train("tagger", data=data, out=tmp_path / "run", show="quiet", **TAGGER_SETTINGS | more)
    np.testing.assert_allclose(run.model.embed_vector.weight[1:].numpy(), [[1, 2, 3], [4, 5, 6]])  # no elephant
    (tmp_path / "vectors.txt").unlink()
    assert cut.load(run.path).predict("The dogs")[1]["word"] == "dogs"  # the file is not needed any more
    (tmp_path / "other.txt").write_text("Hund 1 2\nKatze 3 4\n")
    with pytest.raises(
        ValueError, match=r"vectors must be of words of the data, got .*other.txt with none of those of"
    ):
        cut.train("tagger", data=data, vectors=str(tmp_path / "other.txt"), out=tmp_path / "no", show="quiet")


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"column must be one of upos, .* got 'form'"):
        cut.train("tagger", column="form")
    with pytest.raises(ValueError, match=r"patience needs sentences to evaluate on, got patience=3 with validation=0"):
        cut.train("tagger", patience=3, validation=0.0)
    (tmp_path / "bad.conllu").write_text("1\tI\tPRON\n")
    with pytest.raises(ValueError, match=r"must have 10 fields .* in line 1 of bad.conllu"):
        cut.train("tagger", data=str(tmp_path / "bad.conllu"), out=tmp_path / "run", show="quiet")


@pytest.mark.parametrize("moment", ["before the first line of the log", "before a checkpoint becomes the latest"])
def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path, run, moment):
    """Dropout, hidden words and an average are part of what goes on."""
    settings = TAGGER_SETTINGS | dict(data=str(run.recipe.data), dropout=0.3, ema=0.9, steps=12, checkpoint_every=4)
    expect_same_after_death(tmp_path, "tagger", settings, moment)


@pytest.mark.slow
def test_parts_of_speech_of_english(tmp_path, data_folder):
    """Two epochs on the English Web Treebank, without vectors: far beyond the most frequent tag of each word."""
    run = cut.train("tagger", data=str(data_folder / "text" / "ud_ewt"), out=tmp_path / "run", show="quiet", steps=784)
    found = run.metrics[-1]
    assert found["accuracy"] > 0.93
    assert found["accuracy_on_unknown_words"] > 0.75
    assert run.about["data"]["baseline"]["metrics"]["accuracy"] < 0.9
