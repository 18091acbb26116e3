"""A hundred mistakes at the command line: each ends with code 2 and one line that says the rule and the way out.

Here are those of files and of damaged runs, beside a few of flags for every verb; test_flags.py has the rest of these.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mistaken import expect_one_line

FILES: dict[str, bytes] = {
    "file": b"hello",
    "empty.txt": b"",
    "short.txt": b"ab",
    "latin.txt": "héllo wörld ".encode("latin-1") * 500,
    "binary.txt": bytes(range(256)) * 10,
    "lines.txt": b"no tabs here\n" * 50,
    "good.txt": b"the cat sat on the mat\n" * 200,
    "bad.json": b"{oops",
    "bad.parquet": b"PAR1 damaged",
    "empty.csv": b"",
    "head.csv": b"a,b,target\n",
    "one.csv": b"a\n1\n2\n",
    "ragged.csv": b"a,b,target\n1,2,3\n1,2,3,4,5\n1\n" * 5,
    "other.csv": b"c,d\n1,2\n",
    "classes.csv": b"a,b,target\n" + b"".join(b"%d,%d,%d\n" % (i * 7 % 11, i % 3, i % 2) for i in range(60)),
}
CONFIG: dict[str, Callable[[dict[str, Any]], object]] = {  # what was done to config.json
    "no-version": lambda c: c.pop("version"),
    "no-recipe": lambda c: c.pop("recipe"),
    "no-spec": lambda c: c.pop("spec"),
    "recipe": lambda c: c.update(recipe="gtp"),
    "newer": lambda c: c.update(version=99),
    "text-version": lambda c: c.update(version="x"),
    "list-settings": lambda c: c.update(config=[1]),
    "few-steps": lambda c: c["config"].update(steps=-5),
    "odd-setting": lambda c: c["config"].update(stepz=3),
    "text-spec": lambda c: c.update(spec="gpt"),
}
BYTES: dict[str, tuple[str, bytes]] = {  # which file has now what in it
    "not-json": ("config.json", b"{not json"),
    "no-text": ("config.json", b"\xff\xfe\x00"),
    "zeros": ("config.json", b"\0" * 100),
    "brackets": ("config.json", b"[" * 200_000),
    "list": ("config.json", b"[1, 2]"),
    "metrics": ("metrics.jsonl", b"{oops\n"),
    "metrics-list": ("metrics.jsonl", b"[]\n3\n"),
    "tokenizer": ("tokenizer.json", b"{oops"),
    "weights": ("model.safetensors", b"\x08\0\0\0\0\0\0\0{}      "),
    "results": ("test.json", b"[]"),
}


@pytest.fixture(scope="module")
def place(trained: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of gpt, a run of mlp, damaged copies of the first, and files of many kinds."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "folder").mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for name, recipe in (("gpt", "gpt"), ("mlp", "mlp"), ("no-schema", "mlp"), ("bad-schema", "mlp")):
        shutil.copytree(trained(recipe), folder / name)
    (folder / "no-schema" / "schema.json").unlink()
    (folder / "bad-schema" / "schema.json").write_bytes(b"{}")
    for name, change in CONFIG.items():
        run = shutil.copytree(folder / "gpt", folder / name)
        config = json.loads((run / "config.json").read_text(encoding="utf-8"))
        change(config)
        (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, (file, content) in BYTES.items():
        run = shutil.copytree(folder / "gpt", folder / name)
        (run / file).write_bytes(content)
    return folder


MISTAKES = {
    # verbs and recipes
    "trian": "did you mean train?",
    "Train gpt": "did you mean train?",
    "--bogus": "`cutaway --help` tells what each does",
    "train gtp": "got 'gtp'; did you mean gpt?",
    "train ''": "got ''; `cutaway list recipes`",
    "train imported": "`cutaway import` makes such runs",
    "train --steps 5": "the recipe comes first, got '--steps'; try `cutaway train gpt --steps 5`",
    # flags of every verb
    "demo --stepz 3": "got --stepz; did you mean --steps?",
    "demo --steps few": "--steps must be a whole number, got 'few'; try --steps 400",
    "demo now": "`cutaway demo` takes flags alone, got the word 'now' too; leave it out",
    "list cheese": "WHAT must be one of blocks, recipes, abilities, views, data, got 'cheese'; try blocks",
    "list block": "did you mean blocks?",
    "list --jsn": "got --jsn; did you mean --json?",
    "list --json=yes": "--json must stand alone, got '--json=yes'",
    "train gpt -steps 5": "got -steps; did you mean --steps?",
    "train gpt steps=5": "got the word 'steps=5' too; did you mean --steps 5?",
    "train gpt good.txt": "got the word 'good.txt' too; did you mean --data good.txt?",
    "test": "RUN, the run folder, must be given, got none; write `cutaway test RUN`",
    "test ''": "RUN, the run folder, must be given, got none",
    "test gpt gpt": "`cutaway test` takes RUN and flags, got the word 'gpt' too",
    "generate": "write `cutaway generate RUN`",
    "generate gpt --prompt": "--prompt must have a value, got none; write --prompt TEXT",
    "generate gpt --prompt a b": "put a value of several words in quotes: --prompt 'a b'",
    "generate gpt --promt a": "got --promt; did you mean --prompt?",
    "generate gpt --temperature hot": "--temperature must be a finite number, got 'hot'; write --temperature X",
    "predict": "write `cutaway predict RUN`",
    "predict mlp": "there must be something to predict for, got none; add rows.csv after the run",
    "predict mlp other.csv extra": "got the word 'extra' too; leave it out",
    "look": "write `cutaway look RUN`",
    "look gpt a b": "got the word 'b' too",
    "import": "CHECKPOINT, a folder in the Hugging Face layout, must be given, got none",
    "export": "RUN, the run folder, must be given, got none",
    "export gpt": "--to, the folder to write, must be given, got none",
    "export gpt --to ''": "--to, the folder to write, must be given, got none",
    "--print-completion powershell": "the shell must be one of bash, zsh, fish, got 'powershell'; try",
    # settings
    "train gpt --steps 0": "--steps must be at least 1, got 0; try --steps 800",
    "train gpt --seed -1": "--seed must be at least 0, got -1; try --seed 0",
    f"train gpt --seed {10**30}": "--seed must be below 2⁶³",
    "train gpt --rate 0": "--rate must be above 0, got 0.0; try --rate 0.001",
    "train gpt --warmup 900 --steps 800": "--warmup must be from 0 to below --steps 800, got 900; try --warmup 0",
    "train gpt --floor 2": "--floor must be from 0 to 1, got 2.0",
    "train gpt --width 12 --heads 5": "got --width 12, --heads 5; try --heads 4",
    "train gpt --dropout 50%": "--dropout must be a finite number, got '50%'; try --dropout 0.5",
    "train gpt --validation 1": "--validation must be from 0 to below 1, got 1.0",
    "train gpt --batch-growth 3": "--batch-growth must be a power of 2, got 3; try --batch-growth 4",
    "train gpt --ema 1": "--ema must be from 0 to below 1, got 1.0",
    "train gpt --clip -1": "--clip must be at least 0, got -1.0; try --clip 1.0",
    "train gpt --preset large": "--preset must be one of small, got 'large'",
    "train gpt --device gpu": "--device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'; try --device cpu",
    "train gpt --strategy dp": "--strategy must be one of auto, ddp, fsdp, got 'dp'; did you mean --strategy ddp?",
    "train bert --masked 2": "--masked must be above 0 and below 1, got 2.0; try --masked 0.15",
    "train transformer --beams 0": "--beams must be at least 1, got 0; try --beams 4",
    "generate gpt --tokens 0": "--tokens must be above 0, got 0; try --tokens 1",
    "generate gpt --temperature -1": "--temperature must be 0 (greedy) or above, got -1.0; try --temperature 0.8",
    "generate gpt --top-k 0": "--top-k must be above 0, got 0; try --top-k 1",
    "generate gpt --top-p 2": "--top-p must be a probability from 0 to 1, got 2.0",
    "generate gpt --beams 0": "--beams must be at least 1, got 0; leave it out",
    f"generate gpt --seed {10**30}": "--seed must be from -2⁶³ to below 2⁶³, got 10000",
    "generate gpt --prompt 日本": "text must be made of the",
    # files
    "train gpt --data nowhere.txt": "--data must be a file, a folder or a sample, got 'nowhere.txt'",
    "train gpt --data folder": "a folder of data must hold at least one file",
    "train gpt --data empty.txt": "text must hold at least one character, got empty.txt which is empty",
    "train gpt --data short.txt": "must hold more tokens than the context, got 1 tokens for --context 128",
    "train gpt --data binary.txt": "text must be a text file, got binary.txt",
    "train gpt --data latin.txt": "latin.txt; declare its encoding, for instance --encoding cp1252",
    "train gpt --data good.txt --encoding utf-99": "--encoding must be a text encoding that Python knows, got 'utf-99'",
    "train gpt --data good.txt --tokenizer bep": "got 'bep'; try --tokenizer bpe-4096",
    "train gpt --data good.txt --tokenizer bad.json": "of Hugging Face, got bad.json",
    "train gpt --data good.txt --out file": "a run is a folder, got the file file; choose another --out",
    "train gpt --data good.txt --out gpt": "got gpt, which holds one; add --resume to go on with it, or choose another",
    "train gpt --data good.txt --out file/x": "write to its folder, got not a directory at file/x; choose",
    "train gpt --data iris": "text was asked for, got the table sample iris",
    "train transformer --data lines.txt": "got 'no tabs here' in line 1 of lines.txt",
    "train mlp --data empty.csv": "a table must hold at least one row, got empty.csv",
    "train mlp --data head.csv": "got head.csv with 0 rows of 3 columns",
    "train mlp --data one.csv": "a table must have a column besides its target, got one.csv",
    "train mlp --data ragged.csv": "got 5 in line 3 of ragged.csv",
    "train mlp --data classes.csv --target nope": "--target must be a column of the table, got 'nope'",
    "train mlp --data classes.csv --task classify": "--task must be one of auto, regression",
    "predict mlp nowhere.csv": "got nowhere.csv",
    "predict mlp other.csv": "as in training, got c, d in other.csv; the names are: size",
    "predict mlp classes.csv --out p.txt": "--out must end in .csv, .json or .parquet, got 'p.txt'",
    "predict gpt classes.csv": "a run of 'gpt' cannot predict",
    "look gpt --out p.pdf": "--out must end in .html, .png or .svg, got 'p.pdf'; try --out picture.html",
    "look gpt --at blocks.0.attention.wieghts": "blocks.0.attention.weights",
    "import ./nowhere": "got './nowhere', which is not there",
    "import file": "got the file file; pass its folder",
    "import folder": "a checkpoint folder must hold config.json, got folder without one",
    "import gpt": "in the Hugging Face layout, got gpt, a run of Cutaway, which needs no import; `cutaway look`",
    "export mlp --to new": "if its model is a BERT, GPT, T5 or ViT, got mlp, a run of 'mlp', whose model is a TableNet",
    "train mlp --data classes.csv --test-file other.csv": "--test-file must have the target, got other.csv without",
    "train mlp --data classes.csv --test-file nowhere.csv": "--test-file must be a file or folder that exists, got now",
    "train mlp --data bad.parquet": "whole, got bad.parquet, whose 12 bytes do not read; write or copy it again",
    "train mlp --data ''": "--data must be a file, a folder or a sample, got an empty name; give a path, or a table sa",
    "train gpt --data ''": "--data must be a file, a folder or a sample, got an empty name; give a path, or a text sam",
    "train gpt --data good.txt --tokenizer bpe-1": "got 1; try --tokenizer bpe-512, or --tokenizer bytes",
    "export gpt --to mlp": "a checkpoint needs a folder of its own, got mlp, which is not empty; choose another --to",
    # runs
    "test nowhere": "a run is a folder with config.json, got nowhere without one; `cutaway train` makes one",
    "test file": "a run is a folder with config.json, got file without one",
    "train gpt --resume": "resuming needs the run's folder, got none; add --out runs/NAME",
    "train gpt --resume --out mlp": "a run resumes by its own recipe, got 'gpt' for a run of 'mlp'",
    "train gpt --resume --out gpt --steps 99": "keeps its settings, got --steps 99 where it has --steps 12",
    "generate mlp": "a run of 'mlp' cannot generate text",
    "test no-version": "needs a whole number as 'version', got none in no-version/config.json; take",
    "test text-version": "needs a whole number as 'version', got 'x' in text-version/config.json; take",
    "test newer": "this Cutaway reads runs of version 1, got 99; upgrade cutaway",
    "test no-recipe": "a run's config.json names its recipe, got no-recipe/config.json, which does not",
    "test recipe": "got 'gtp'; did you mean gpt?",
    "test list-settings": "needs an object as 'config', got [1] in list-settings/config.json; take",
    "test few-steps": "few-steps/config.json",
    "test odd-setting": "odd-setting/config.json",
    "test no-spec": "has no spec",
    "test text-spec": "an object as 'spec', got 'gpt' in text-spec/config.json; take the file from a copy",
    "test not-json": "got not-json/config.json (expecting property name enclosed in double quotes in line 1); take",
    "test no-text": "got no-text/config.json (byte 0xff at position 0 is not UTF-8); take it from a copy",
    "test zeros": "got zeros/config.json (expecting value in line 1); take it from a copy",
    "test brackets": "got brackets/config.json (it is nested too deep); take it from a copy",
    "test list": "names its recipe, got list/config.json, which does not",
    "test results": "test.json must be JSON as it was written, got results/test.json (it has no 'weights'); take",
    "generate tokenizer": "tokenizer.json",
    "generate weights": "weights/model.safetensors",
    "look metrics": "got line 1 of metrics/metrics.jsonl",
    "look metrics-list": "got line 1 of metrics-list/metrics.jsonl",
    "predict no-schema classes.csv": "schema.json",
    "predict bad-schema classes.csv": "schema.json",
}


@pytest.mark.parametrize(("typed", "told"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_one_line(
    typed: str, told: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    expect_one_line(typed, told, place, monkeypatch, capsys)
