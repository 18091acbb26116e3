"""The library's messages in the language of the command line."""

import pytest

from cutaway.commands.messages import in_flags, speak_of
from cutaway.tasks.abilities.flag import Flag

FLAGS = [
    Flag("run", positional=True),
    Flag("steps", int),
    Flag("batch", int),
    Flag("muon_rate", float),
    Flag("tokenizer"),
    Flag("encoding"),
    Flag("checkpointing", bool, default=False),
    Flag("header", bool, optional=True),
]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("steps must be at least 1, got -5; try steps=800", "--steps must be at least 1, got -5; try --steps 800"),
        (
            "muon_rate must be above 0, got 0; try muon_rate=0.001",
            "--muon-rate must be above 0, got 0; try --muon-rate 0.001",
        ),
        ("lower batch=16 (or more), or checkpointing=True", "lower --batch 16 (or more), or --checkpointing"),
        ("pass header=False, or header=True", "pass --no-header, or --header"),
        ("use tokenizer='bpe-8000', please", "use --tokenizer bpe-8000, please"),
        ('pass encoding="utf 16"', "pass --encoding 'utf 16'"),
        ("got width=12, steps=3", "got width=12, --steps 3"),  # width is no flag of this verb
        ("data has 'steps=5' and \"batch=2\" in it", "data has 'steps=5' and \"batch=2\" in it"),
        ("see `f(steps=5)` and the run's steps=6", "see `f(steps=5)` and the run's --steps 6"),
        ("got runs/steps=5 without one", "got runs/steps=5 without one"),
        ("got batch=7 without one", "got batch=7 without one"),  # a folder: the person typed it
        ("the steps must rise", "the steps must rise"),
        ("steps of a ladder", "steps of a ladder"),
        ("batch is where it ends", "batch is where it ends"),
        ("try steps=(1, 2)", "try steps=(1, 2)"),
        ("or run.test(steps=3, batch=2)", "or run.test(steps=3, --batch 2)"),
        ("each doubling of muon_rate, of hub/muon_rate", "each doubling of --muon-rate, of hub/muon_rate"),
    ],
)
def test_keywords_become_flags(message: str, told: str):
    speak_of(FLAGS, ["batch=7", "batch"])
    assert in_flags(message) == told
