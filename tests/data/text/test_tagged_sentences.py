"""Tagged text in three parts: by files, by the names of a folder's files, by shares; and data that has no tags."""

import pytest

import cutaway as cut
from cutaway.data.text.tagged_sentences import read_tagged


def write(path, count, tag="N"):
    path.write_text("".join(f"w{i}\t{tag}\n.\tP\n\n" for i in range(count)), encoding="utf-8")
    return str(path)


def test_shares_are_drawn_by_seed(tmp_path):
    path = write(tmp_path / "all.tsv", 100)
    text, again, other = (read_tagged(path, seed=seed) for seed in (1, 1, 2))
    assert (len(text.train), len(text.validation), len(text.open_test())) == (80, 10, 10)
    assert text.train == again.train
    assert text.train != other.train
    parts = [*text.train, *text.validation, *text.open_test()]
    assert sorted(s.words[0] for s in parts) == sorted(f"w{i}" for i in range(100))
    assert "train 80 (160 words), validation 10 (20 words), and a test" in text.summary()
    assert "tags: 2 (N, P)" in text.summary()


def test_files_of_their_own(tmp_path):
    train, dev, test = (write(tmp_path / f"{name}.tsv", n) for name, n in (("a", 9), ("b", 5), ("c", 3)))
    text = read_tagged(train, validation_file=dev, test_file=test)
    assert [len(part) for part in (text.train, text.validation, text.open_test())] == [9, 5, 3]
    half = read_tagged(train, validation_file=dev, test=0.0)
    assert (len(half.train), len(half.validation), half.splits.has_test) == (9, 5, False)
    assert read_tagged(train, validation_file=dev, test=0.0).fingerprint.digest != read_tagged(train).fingerprint.digest


def test_a_folder_with_parts_in_its_names(tmp_path):
    for name, count in (("xx-ud-train", 8), ("xx-ud-dev", 4), ("xx-ud-test", 2)):
        write(tmp_path / f"{name}.tsv", count)
    (tmp_path / "xx-ud-train.txt").write_text("bare text")
    (tmp_path / "README.md").write_text("about it")
    text = read_tagged(tmp_path)
    assert [len(part) for part in (text.train, text.validation, text.open_test())] == [8, 4, 2]


def test_a_folder_without_parts_is_one_text(tmp_path):
    write(tmp_path / "a.tsv", 10)
    write(tmp_path / "b.tsv", 10)
    assert len(read_tagged(tmp_path, validation=0.0, test=0.0).train) == 20


def test_the_test_file_is_checked_before_training_and_counted_as_read_when_it_is_opened(tmp_path):
    train = write(tmp_path / "train.tsv", 9)
    (tmp_path / "broken.tsv").write_text("a\tA\nb\n")
    with pytest.raises(ValueError, match=r"got 'b' in line 2 of broken.tsv"):
        read_tagged(train, test_file=str(tmp_path / "broken.tsv"), validation=0.0)
    text = read_tagged(train, test_file=write(tmp_path / "test.tsv", 3), validation=0.0)
    assert (text.splits.has_test, text.splits.test_reads) == (True, 0)
    assert (len(text.open_test()), text.splits.test_reads) == (3, 1)


def test_the_sample():
    text = cut.data.open_data("python-roles")
    assert len(text.train) + len(text.validation) + len(text.open_test()) == 9000
    assert {"keyword", "variable", "parameter", "method"} <= {tag for s in text.train for tag in s.tags}


def test_messages(tmp_path):
    empty, untagged = tmp_path / "empty.tsv", tmp_path / "untagged.conllu"
    empty.write_text("\n\n# nothing\n")
    with pytest.raises(ValueError, match=r"tagged text must have sentences, got empty.tsv with none"):
        read_tagged(empty)
    untagged.write_text("1\ta" + "\t_" * 8 + "\n\n")
    with pytest.raises(
        ValueError, match=r"words must have tags to learn from, got untagged.conllu with none in .* upos"
    ):
        read_tagged(untagged)
    with pytest.raises(ValueError, match=r"training needs sentences, got 1 in one.tsv; lower validation=0.6 or test=0"):
        read_tagged(write(tmp_path / "one.tsv", 1), validation=0.6, test=0.0)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "a.pdf").write_text("x")
    with pytest.raises(ValueError, match=r"must hold files that end in .conllu, .* got .*odd with a.pdf"):
        read_tagged(tmp_path / "odd")
    with pytest.raises(ValueError, match=r"test_file must be a file or folder that exists, got .*nowhere"):
        read_tagged(write(tmp_path / "a.tsv", 9), test_file=str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"tagged text was asked for, got the table sample iris"):
        read_tagged("iris")


def test_equal_sentences_are_in_one_part(tmp_path):
    rows = [f"word{i % 30}\tNOUN\n{'Runs' if i % 2 else 'runs'}\tVERB\n" for i in range(120)]
    (tmp_path / "data.conll").write_text("\n".join(rows))
    found = read_tagged(tmp_path / "data.conll", validation=0.2, test=0.2)
    parts = [{" ".join(s.words).lower() for s in part} for part in (found.train, found.validation, found.open_test())]
    assert not (parts[0] & parts[1])
    assert not (parts[0] & parts[2])
    assert not (parts[1] & parts[2])
    assert "90 sentences come again; each stays in one part" in found.summary()
    before = read_tagged(tmp_path / "data.conll", validation=0.2, test=0.2, together=False)
    assert {s.words for s in before.train} & {s.words for s in before.validation or ()}, "as runs made before have it"
    assert "come again" not in before.summary()


def test_a_validation_file_that_has_training_sentences(tmp_path):
    (tmp_path / "train.conll").write_text("\n".join(f"word{i}\tNOUN\nruns\tVERB\n" for i in range(9)))
    (tmp_path / "dev.conll").write_text("Word3\tNOUN\nruns\tVERB\n\nother\tNOUN\nruns\tVERB\n")
    found = read_tagged(tmp_path)
    assert "1 of 2 sentences to evaluate on are also in training" in found.summary()


def test_tags_that_training_has_not_are_told_before_training(tmp_path):
    train = write(tmp_path / "train.tsv", 30)
    other = tmp_path / "other.tsv"
    other.write_text("a\tX\nb\tY\n\nc\tX\n")
    for setting in ("validation_file", "test_file"):
        with pytest.raises(
            ValueError,
            match=rf"{setting} must have tags of training, got X, Y in other\.tsv and none of them; the tags .*: N, P",
        ):
            read_tagged(train, **{setting: str(other)})


def test_some_tags_that_training_has_not_count_as_wrong(tmp_path):
    (tmp_path / "test.tsv").write_text("a\tN\nb\tY\n\nc\tX\nd\tX\n")
    text = read_tagged(write(tmp_path / "train.tsv", 30), test_file=str(tmp_path / "test.tsv"))
    assert "tags of test.tsv that training has not: X, Y (3 words, which count as wrong)" in text.summary()


def test_conll_2003_and_words_with_a_tab_and_a_tag(tmp_path):
    path = tmp_path / "eng.train"
    sentences = [f"EU NNP B-NP B-ORG\nran{i} VBD B-VP O\n\n" for i in range(30)]
    path.write_text("-DOCSTART- -X- -X- O\n\n" + "".join(sentences))
    text = read_tagged(path)
    assert {sentence.words[0] for sentence in text.train} == {"EU"}
    assert "tags: 2 (B-ORG, O)" in text.summary()
