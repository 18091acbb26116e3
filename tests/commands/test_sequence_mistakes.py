"""Mistakes with recipes of sequences, about a hundred: each ends with code 2 and one line that says the way out."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mistaken import expect_one_line

RUNS = ("lstm", "markov", "tagger", "classifier", "seq2seq", "series-classifier", "anomaly")
ROWS = "".join(f"{'ab'[i % 2]}\ttext {'good' if i % 2 else 'bad'} {i}\n" for i in range(40))
WORDS = "1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n" * 20
STEPS = "class," + ",".join(f"t{i}" for i in range(6)) + "\n"
SERIES = STEPS + "".join(f"{'ab'[i % 2]},{i % 5},2,{i % 3},4,{i % 2},6\n" for i in range(30))
HOURS = "ds,y\n" + "".join(f"2024-01-{1 + i // 24:02d} {i % 24:02d}:00,{i % 24}\n" for i in range(480))
FILES: dict[str, bytes] = {
    name: content.encode() if isinstance(content, str) else content
    for name, content in {
        "empty.txt": "",
        "blank.txt": "\n \n",
        "good.txt": "the cat sat on the mat\n" * 100,
        "latin.txt": "café\n".encode("latin-1"),
        "rows.tsv": "label\ttext\n" + ROWS,
        "head.tsv": "label\ttext\n",
        "one-class.tsv": "label\ttext\n" + "a\tsome text\n" * 5,
        "unique.tsv": "label\ttext\n" + "".join(f"c{i}\ttext {i}\n" for i in range(20)),
        "same.tsv": "label\ttext\n" + "a\tone\nb\ttwo\n" * 20,
        "short.tsv": "label\ttext\n" + ROWS + "a\n",
        "open.csv": "label,text\n" + ROWS.replace("\t", ",") + 'a,"never closed\nb,more\n',
        "column.csv": "text\n" + "a good film here\nso bad a film\n" * 9,
        "latin.tsv": ("label\ttext\n" + ROWS + "a\tcafé\n").encode("latin-1"),
        "nul.tsv": ("label\ttext\n" + ROWS + "a\tx\0y\n").encode(),
        "bad.jsonl": '{"text": "a", "label": "b"}\n{oops\n',
        "list.jsonl": "[1]\n",
        "labels.tsv": "label\ttext\nzebra\ta text\n",
        "good.conllu": WORDS,
        "nine.conllu": WORDS + "1\tx\t_\tADP\t_\t_\t_\t_\t_\n\n",
        "id.conllu": WORDS + "x\tx\t_\tADP\t_\t_\t_\t_\t_\t_\n\n",
        "jump.conllu": WORDS + "2\tx\t_\tADP\t_\t_\t_\t_\t_\t_\n\n",
        "comments.conllu": "# nothing\n\n",
        "untagged.conllu": WORDS.replace("DET", "_").replace("NOUN", "_"),
        "one-tag.conllu": WORDS.replace("DET", "X").replace("NOUN", "X"),
        "words.txt": "The\ndog\n\n" * 5,
        "uneven.txt": "The\tDET\ndog\n\n" * 5,
        "vectors.txt": "zebra 1 2\nlion 2 3\n",
        "bad-vectors.txt": "the 1 2\ndog 2\n",
        "pairs.tsv": "".join(f"I see {i} cats\tveo {i} gatos\n" for i in range(60)),
        "one-side.tsv": "hello\t\nbye\tadiós\n",
        "no-tab.tsv": "hello there\n" * 5,
        "series.csv": SERIES,
        "series-head.csv": STEPS,
        "series-text.csv": SERIES + "a,1,2,abc,4,5,6\n",
        "series-inf.csv": SERIES + "a,1,2,inf,4,5,6\n",
        "series-none.csv": SERIES + "a,,,,,,\n",
        "series-one.csv": STEPS + "a,1,2,3,4,5,6\n" * 5,
        "series-ragged.csv": SERIES + "a,1,2\n",
        "word.ts": "@classLabel true a b\n@data\n1,x,3:a\n",
        "none.ts": "@classLabel true a b\n@data\n",
        "stamps.ts": "@timeStamps true\n@classLabel true a b\n@data\n1,2:a\n",
        "hours.csv": HOURS,
        "few.csv": "ds,y\n2024-01-01,1\n2024-01-02,2\n",
        "hours-text.csv": HOURS.replace(" 05:00,5\n", " 05:00,abc\n", 1),
        "hours-inf.csv": HOURS.replace(" 05:00,5\n", " 05:00,inf\n", 1),
        "hours-date.csv": HOURS.replace("2024-01-01 05:00", "someday", 1),
        "hours-twice.csv": HOURS + "2024-01-01 05:00,7\n",
        "hours-none.csv": re.sub(r",\d+\n", ",\n", HOURS),
    }.items()
}


@pytest.fixture(scope="module")
def place(trained: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each recipe and files of many kinds."""
    folder = tmp_path_factory.mktemp("sequences")
    (folder / "folder").mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for recipe in RUNS:
        shutil.copytree(trained(recipe), folder / recipe)
    return folder


MISTAKES = {
    # settings
    "train lstm --width 0": "--width must be at least 1, got 0; try --width",
    "train lstm --depth -1": "--depth must be at least 1, got -1; try --depth",
    "train gru --dropout 1": "--dropout must be from 0 to below 1, got 1.0",
    "train rnn --context 0": "--context must be at least 1, got 0",
    "train lstm --heads 4": "got --heads",
    "train markov --order -1": "--order must be at least 0, got -1",
    "train markov --order x": "--order must be a whole number, got 'x'",
    "train markov --smoothing 0": "--smoothing must be",
    "train tagger --hide -1": "--hide must be at least 0, got -1.0",
    "train tagger --column colour": "got 'colour'",
    "train tagger --splitting letters": "--splitting must be one of auto, words, spaces, python, got 'letters'",
    "train tagger --preset treebnk": "--preset must be one of treebank, got 'treebnk'",
    "train tagger --patience 3 --validation 0": "--patience 3 with --validation 0; set --patience 0 too",
    "train classifier --model lstm": "--model must be one of cnn, rnn, transformer, got 'lstm'",
    "train classifier --trust 2": "--trust must be from 0 to",
    "train classifier --penalty 0": "--penalty must be above 0, got 0.0; try --penalty 4",
    "train classifier --tokenizer letters": "--tokenizer must be words, words-N, characters or bpe-N, got 'letters'",
    "train classifier --tokenizer bpe-500 --vectors vectors.txt": "vectors are those of words, got --vectors vectors",
    "train classifier --model transformer --width 50 --heads 4": "got --width 50, --heads 4; try",
    "train classifier --augment -1": "--augment must be from 0 to below 1, got -1.0",
    "train seq2seq --reads everything": "--reads must be one of attention, thought, got 'everything'",
    "train seq2seq --beams 0": "--beams must be at least 1, got 0",
    "train seq2seq --smoothing 1": "--smoothing must be from 0 to below 1, got 1.0",
    "train seq2seq --context 2": "--context must be at least 3, got 2",
    "train series-classifier --design lstm": "--design must be one of conv, rnn, got 'lstm'",
    "train series-classifier --augment -1": "--augment must be at least 0, got -1.0",
    "train anomaly --alarms-per-year 0": "--alarms-per-year must be above 0, got 0.0; try --alarms-per-year 2",
    "train anomaly --horizon -2": "--horizon must be at least 0, got -2",
    "train anomaly --missing drop": "--missing must be one of keep, zero, forward, interpolate, refuse, got 'drop'",
    "train series-clasifier": "did you mean series-classifier?",
    "train anomly": "did you mean anomaly?",
    "train seq2sec": "did you mean seq2seq?",
    # files of labelled texts
    "train classifier --data nowhere.tsv": "got 'nowhere.tsv'",
    "train classifier --data empty.txt": "must hold at least one line, got empty.txt, which is empty; give one with",
    "train classifier --data head.tsv": "must hold a text with a label, got head.tsv with 0 empty texts and 0 without",
    "train classifier --data one-class.tsv": "needs at least two classes, got one-class.tsv where every label is 'a'",
    "train classifier --data unique.tsv": "labels must repeat, got 20 different ones for 20 texts in unique.tsv",
    "train classifier --data same.tsv": "got none for --validation 0.1 of 40 texts, of which only 2 are different; use",
    "train classifier --data short.tsv": "got 1 in line 42 of short.tsv (separator tab)",
    "train classifier --data open.csv": "got one that begins in line 42 of open.csv and goes on to its end; close it",
    "train classifier --data column.csv": "a column of texts and one of labels, got column.csv with lines such as 's",
    "train classifier --data latin.tsv": "in line 42 of latin.tsv; declare its encoding, for instance --encoding cp1",
    "train classifier --data nul.tsv": "the text must be a text file, got nul.tsv which holds 1 control bytes",
    "train classifier --data bad.jsonl": "got '{oops' in line 2 of bad.jsonl",
    "train classifier --data list.jsonl": "must hold an object a text, got '1' in list.jsonl",
    "train classifier --data rows.tsv --text nope": "--text must be a column of the table, got 'nope'",
    "train classifier --data rows.tsv --target text --text text": "must be different columns, got 'text' for both",
    "train classifier --data rows.tsv --vectors nowhere.txt": "nowhere.txt",
    "train classifier --data rows.tsv --test-file nowhere.tsv": "--test-file must be a file or folder that exists, g",
    "train classifier --data folder": "a folder of data must hold at least one file",
    "train classifier --data iris": "got the table sample iris",
    # files of tagged words
    "train tagger --data nowhere.conllu": "got 'nowhere.conllu'",
    "train tagger --data empty.txt": "tagged text must have sentences, got empty.txt with none",
    "train tagger --data comments.conllu": "tagged text must have sentences, got comments.conllu with none",
    "train tagger --data nine.conllu": "must have 10 fields with tabs between them, not 9, got '1\\tx\\t_\\tADP",
    "train tagger --data id.conllu": "must be an ID such as 3, 3-4 or 3.1, got 'x\\tx",
    "train tagger --data jump.conllu": "in line 61 of jump.conllu; add the blank line between sentences",
    "train tagger --data untagged.conllu": "got untagged.conllu with none in its column upos; choose another column",
    "train tagger --data one-tag.conllu": "needs at least two tags, got one-tag.conllu where every tag is 'X'; choose",
    "train tagger --data good.conllu --column misc:NER": "where every tag is '_'; choose another column than --colum",
    "train tagger --data words.txt": "words must come with tags, got a single column in line 1 of words.txt",
    "train tagger --data uneven.txt": "which has 2, got 'dog' in line 2 of uneven.txt",
    "train tagger --data good.conllu --vectors nowhere.txt": "nowhere.txt",
    "train tagger --data good.conllu --vectors vectors.txt": "got vectors.txt with none of those of good.conllu; give",
    "train tagger --data good.conllu --vectors bad-vectors.txt": "bad-vectors.txt",
    # files of pairs and text
    "train seq2seq --data no-tab.tsv": "got 'hello there' in line 1 of no-tab.tsv",
    "train seq2seq --data one-side.tsv": "one-side.tsv",
    "train seq2seq --data empty.txt": "empty.txt",
    "train seq2seq --data pairs.tsv --context 3 --tokenizer bpe-300": "the context must hold some of the pairs, got ",
    "train seq2seq --data pairs.tsv --tokenizer characters": "tokenizer",
    "train lstm --data empty.txt": "text must hold at least one character, got empty.txt which is empty",
    "train markov --data blank.txt": "must hold more tokens than the context",
    "train gru --data good.txt --tokenizer words-0": "got 0; try --tokenizer words-10000",
    "train rnn --data good.txt --tokenizer chars": "got 'chars'; try --tokenizer",
    # files of series
    "train series-classifier --data nowhere.csv": "got 'nowhere.csv'",
    "train series-classifier --data series-head.csv": "there must be a series, got none in series-head.csv",
    "train series-classifier --data series-text.csv": "got 't2' with 'abc' in series-text.csv; mend it, leave that col",
    "train series-classifier --data series-inf.csv": "an infinite or larger one in number 31 of series-inf.csv; mend",
    "train series-classifier --data series-none.csv": "got number 31 of series-none.csv without any; leave it out",
    "train series-classifier --data series-one.csv": "needs series of two classes or more, got a in series-one.csv",
    "train series-classifier --data series-ragged.csv": "got 3 in line 32 of series-ragged.csv",
    "train series-classifier --data series.csv --target kind": "target must be a column of the table, got 'kind'",
    "train series-classifier --data word.ts": "got 'x' in word.ts, line 3; mend it, or write ? for a missing value",
    "train series-classifier --data none.ts": "must have series after a line @data, got none in none.ts",
    "train series-classifier --data stamps.ts": "without time stamps, got @timeStamps true in stamps.ts; save it as ",
    "train anomaly --data few.csv": "odd points need a history to stand out from",
    "train anomaly --data hours-text.csv": "where 'y' has 'abc' in row 6; mend it",
    "train anomaly --data hours-inf.csv": "must be finite, got inf in row 6 of 'y' of hours-inf.csv; leave the field",
    "train anomaly --data hours-date.csv": "written in one way, got 'someday' in row 6 of 'ds' of hours-date.csv where",
    "train anomaly --data hours-twice.csv": "got 2 for 2024-01-01 05:00:00 of series 'y'",
    "train anomaly --data hours-none.csv": "series need values, got only missing ones in hours-none.csv; fill it",
    "train anomaly --data hours.csv --frequency never": "never",
    # runs
    "predict lstm 'the cat'": "a run of 'lstm' cannot predict",
    "predict tagger nowhere.conllu": "a file of texts must be there, got 'nowhere.conllu', which is not; look for",
    "predict tagger folder": "texts must be a file or a text, got the folder folder; give a file in it",
    "predict tagger nine.conllu": "not 9, got '1\\tx\\t_\\tADP",
    "predict tagger blank.txt": "texts must come one a line, got blank.txt, which has none; give a file with lines",
    "predict tagger latin.txt": "in line 1 of latin.txt; declare its encoding, for instance --encoding cp1252",
    "predict tagger good.txt --encoding utf-99": "--encoding must be a text encoding that Python knows, got 'utf-99'",
    "predict classifier nowhere.tsv": "a file of texts must be there, got 'nowhere.tsv', which is not; look for",
    "predict classifier empty.txt": "texts must come one a line, got empty.txt, which has none; give a file",
    "predict seq2seq nowhere.txt": "a file of texts must be there, got 'nowhere.txt', which is not; look for",
    "predict series-classifier nowhere.csv": "must be a file or folder that exists, got nowhere.csv; ",
    "predict series-classifier series-head.csv": "there must be a series, got none in series-head.csv",
    "predict anomaly few.csv": "few.csv",
    "predict anomaly hours-inf.csv": "must be finite, got inf in row 6 of 'y' of hours-inf.csv",
    "generate tagger": "a run of 'tagger' cannot generate text",
    "generate anomaly": "a run of 'anomaly' cannot generate text",
    "generate lstm --prompt ''": "a prompt must hold at least one token, got ''; begin with a word",
    "generate markov --prompt 日本": "got '日' at position 0; leave it out",
    "forecast classifier": "a run of 'classifier' cannot forecast",
    "forecast anomaly --horizon 0": "--horizon must be a whole number above 0, got 0; try --horizon 12",
    "nearest markov the": "nearest words are for runs with vectors of words or tokens, got markov",
    "nearest series-classifier up": "nearest words are for runs with vectors of words or tokens, got series-classifier",
    "look anomaly few.csv": "few.csv",
    "look series-classifier empty.txt": "a table must hold at least one row, got empty.txt which is empty",
    "look lstm --at gates.nothing": "an address must name a module or tap of the model, got 'gates.nothing'",
    "export seq2seq --to new": "whose model is a Seq2Seq; take its weights as they are",
    "train seq2seq --resume --out seq2seq --reads thought": "keeps its settings, got --reads thought where it has --",
    "train tagger --resume --out lstm": "a run resumes by its own recipe, got 'tagger' for a run of 'lstm'",
}


@pytest.mark.parametrize(("typed", "told"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_one_line(
    typed: str, told: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    expect_one_line(typed, told, place, monkeypatch, capsys)
