"""CoNLL-U and plain columns: multi-word tokens, empty nodes, what is written back, and every kind of damage by line."""

import gzip
import lzma

import pytest

from cutaway.data.files import find_files
from cutaway.data.text.conllu import (
    Sentence,
    expect_column,
    looks_tagged,
    parse_sentences,
    read_sentences,
    sentence_of,
    tags_of,
    with_tags,
)

WEST = """# sent_id = 1
# text = I can't.
1\tI\tI\tPRON\tPRP\tCase=Nom|Number=Sing\t3\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tca\tcan\tAUX\tMD\tVerbForm=Fin\t0\troot\t_\tNER=O
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t2:dep\t_
4\t.\t.\t_\t.\t_\t2\tpunct\t_\tNER=B-X

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

"""


def sentences(text: str, name: str = "west.conllu") -> list[Sentence]:
    return list(parse_sentences(text.split("\n"), name))


def test_words_are_those_with_a_whole_number():
    first, second = sentences(WEST)
    assert first.words == ["I", "ca", "n't", "."]
    assert second.words == ["Yes"]
    assert first.comments == ("# sent_id = 1", "# text = I can't.")
    assert first.place == "line 3 of west.conllu"
    assert "".join(s.text() for s in (first, second)) == WEST


def test_any_column_is_a_target():
    first, _ = sentences(WEST)
    assert tags_of(first) == ["PRON", "AUX", "PART", None]
    assert tags_of(first, "xpos") == ["PRP", "MD", "RB", "."]
    assert tags_of(first, "deprel") == ["nsubj", "root", "advmod", "punct"]
    assert tags_of(first, "feats") == ["Case=Nom|Number=Sing", "VerbForm=Fin", "_", "_"]
    assert tags_of(first, "feats:Number") == ["Sing", "_", "_", "_"]
    assert tags_of(first, "misc:NER") == ["_", "O", "_", "B-X"]
    assert tags_of(first, "4") == tags_of(first, "upos")


def test_tags_are_put_back_and_all_else_stays():
    first, _ = sentences(WEST)
    new = with_tags(first, ["A", "B", "C", "D"])
    assert tags_of(new) == ["A", "B", "C", "D"]
    assert with_tags(new, ["PRON", "AUX", "PART", "_"]).text() == first.text()
    again = with_tags(first, ["Plur", "_", "Sing", "_"], "feats:Number")
    assert [again.rows[i][5] for i in again.word_rows] == ["Case=Nom|Number=Plur", "VerbForm=Fin", "Number=Sing", "_"]
    named = with_tags(first, ["B-Y", "_", "_", "_"], "misc:NER")
    assert [named.rows[i][9] for i in named.word_rows] == ["NER=B-Y", "_", "_", "_"]


def test_plain_columns():
    """With tabs or spaces, several columns, a word "#", CoNLL-2003's document lines, no blank line at the end."""
    (one,) = sentences("#\tSYM\n1\tNUM", "a.tsv")
    assert (one.words, tags_of(one)) == (["#", "1"], ["SYM", "NUM"])
    eng = sentences("-DOCSTART- -X- O O\n\nU.N. NNP I-NP B-ORG\nsays VBZ I-VP O\n\n\n. . O O\n", "eng.train")
    assert [(s.words, tags_of(s)) for s in eng] == [(["U.N.", "says"], ["B-ORG", "O"]), (["."], ["O"])]
    assert tags_of(eng[0], "2") == ["NNP", "VBZ"]
    (bare,) = sentences("New York\tPROPN\n", "b.tsv")
    assert bare.words == ["New York"]
    (alone,) = sentences("The\ndog\n", "words.tsv")
    assert with_tags(alone, ["DET", "NOUN"]).text() == "The\tDET\ndog\tNOUN\n\n"


def test_windows_line_ends_empty_sentences_and_comments_alone():
    text = "# a file\r\n\r\n# empty\r\n\r\n" + WEST.replace("\n", "\r\n") + "\r\n# the end"
    assert [s.words for s in sentences(text)] == [s.words for s in sentences(WEST)]


def test_packed_files_and_several(tmp_path):
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(WEST.encode()))
    (tmp_path / "b.conllu.xz").write_bytes(lzma.compress(WEST.encode()))
    (tmp_path / "c.conllu").write_text(WEST, encoding="utf-8")
    assert len(list(read_sentences(find_files(tmp_path)))) == 6


def test_a_sentence_of_words_is_conllu():
    made = with_tags(sentence_of(["a", "dog"], ["# text = a dog"]), ["DET", "NOUN"])
    assert made.text() == "# text = a dog\n1\ta\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n"


ROW = "\t_" * 8
DAMAGE = {
    "1\tI\tI\tPRON\n": "10 fields with tabs between them, not 4, got .* in line 1 of x.conllu; the fields are ID FORM",
    f"1\tI{ROW}\n2 ca can AUX MD _ 0 root _ _\n": "10 fields with tabs between them, not 1, .* in line 2 of x.conllu",
    f"1\tI{ROW}\n3\tgo{ROW}\n": r"numbered one by one from 1, and 2 is next, got .* in line 2 of x.conllu",
    f"1\tI{ROW}\n1\tgo{ROW}\n": "2 is next, got .* in line 2 of x.conllu; add the blank line between sentences",
    f"2\tI{ROW}\n": "1 is next, got .* in line 1",
    f"1\tI{ROW}\n3-4\tgo{ROW}\n": "2 is next, got .* in line 2",
    f"one\tI{ROW}\n": "the first field must be an ID such as 3, 3-4 or 3.1, got .* in line 1",
    f"1\t{ROW}\n": "a word must not be empty, got .* in line 1",
    f"# c\n1\tI{ROW}\n# d\n2\tgo{ROW}\n": "comments must come before the words of a sentence, got '# d' in line 3",
}


@pytest.mark.parametrize("text", DAMAGE)
def test_damage_is_named_by_line(text):
    with pytest.raises(ValueError, match=DAMAGE[text]):
        sentences(text, "x.conllu")


def test_damaged_columns_are_named_by_line():
    with pytest.raises(ValueError, match=r"as many columns as the first, which has 2, got 'b' in line 2 of x.tsv"):
        sentences("a\tA\nb\n", "x.tsv")
    with pytest.raises(ValueError, match=r"a word must not be empty, got '\\tA' in line 2 of x.tsv"):
        sentences("a\tA\n\tA\n", "x.tsv")


def test_columns_that_hold_no_tags():
    for column in ("", "upos", "feats:Tense", "misc:NER", "4"):
        expect_column(column)
    with pytest.raises(ValueError, match=r"got 'NER'; try misc:NER"):
        expect_column("NER")
    for column in ("form", "feats:", "misc", "1", "id:3"):
        with pytest.raises(ValueError, match=f"column must be one of upos, xpos, feats, deprel, .* got '{column}'"):
            expect_column(column)
    (plain,) = sentences("a\tA\n", "x.tsv")
    with pytest.raises(ValueError, match=r"'xpos' is a field of CoNLL-U, got plain columns in line 1 of x.tsv"):
        tags_of(plain, "xpos")
    with pytest.raises(ValueError, match=r"one of the 2 columns after the first, got column=3 in line 1 of x.tsv"):
        tags_of(plain, "3")
    (alone,) = sentences("a\n", "x.tsv")
    with pytest.raises(ValueError, match=r"words must come with tags, got a single column in line 1 of x.tsv"):
        tags_of(alone)


def test_english_web_treebank_is_read_and_written_back(data_folder):
    path = data_folder / "text" / "ud_ewt" / "en_ewt-ud-dev.conllu.xz"
    found = list(read_sentences(find_files(path)))
    assert (len(found), sum(len(s.words) for s in found)) == (2001, 25147)  # as the manifest of the data says
    assert "".join(s.text() for s in found) == lzma.decompress(path.read_bytes()).decode()


CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC
call NN I-NP O

Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER
"""


@pytest.mark.parametrize("first", ["-DOCSTART- -X- -X- O", "-DOCSTART- -X- O O", "-DOCSTART-", "-DOCSTART- O"])
def test_conll_2003_with_whatever_stands_beside_its_breaks(first: str):
    text = CONLL_2003.replace("-DOCSTART- -X- -X- O", first) + f"\n{first}\n\nStop VB B-VP O\n"
    found = list(parse_sentences(text.split("\n")))
    assert [s.words for s in found] == [["EU", "rejects", "German", "call"], ["Peter", "Blackburn"], ["Stop"]]
    assert tags_of(found[0]) == ["B-ORG", "O", "B-MISC", "O"]
    assert tags_of(found[0], "2") == ["NNP", "VBZ", "JJ", "NN"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CONLL_2003, True),
        (CONLL_2003.removeprefix("-DOCSTART- -X- -X- O\n\n"), True),
        ("The\tDET\ndog\tNOUN\n\nA\tDET\ncat\tNOUN\n", True),
        ("The DET\ndog NOUN\nran VERB\n\nA DET\ncat NOUN\nran VERB\n", True),
        ("good\tpos\nbad\tneg\nfine\tpos\ndull\tneg\n", False),  # words with a class each: no sentences
        ("so good\tpos\nso bad\tneg\n\nso fine\tpos\nso dull\tneg\n", False),
        ("It was night\nand all was still\n\nNobody came\n", False),
        ("Roses are red\nViolets are blue\n\nSugar is sweet\nAnd so are you\n", False),
        ("1 2\n2 3\n3 1\n", False),  # edges
        ("a\n", False),
        ("", False),
    ],
)
def test_words_and_tags_are_known_by_their_lines(text: str, expected: bool):
    assert looks_tagged(text) is expected
