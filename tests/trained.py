"""One trained run of a recipe, shared by all tests and processes of a session.

The fixture `trained` gives its folder, to read; the fixture `own_run` gives a copy, to change.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from little import SETTINGS, little_text

SMALL: dict[str, Any] = {name: value for name, value in SETTINGS.items() if name != "sample_tokens"}
# The settings of the runs of texts: a test that needs others trains with these and its own.
BERT_SETTINGS: dict[str, Any] = dict(SMALL, tokenizer="bpe-300", warmup=2)
TRANSFORMER_SETTINGS: dict[str, Any] = dict(BERT_SETTINGS, context=24, batch=8, validation=0.1, test=0.1, beams=2)
TAGGER_SETTINGS: dict[str, Any] = dict(
    width=12,
    word_width=8,
    filters=6,
    affix_width=4,
    ema=0.0,
    dropout=0.0,
    rate=0.02,
    warmup=0,
    steps=80,
    batch=8,
    evaluate_every=40,
    checkpoint_every=40,
)


def little_pairs(folder: Path, count: int = 150) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"I see {i} cats.\tVeo {i} gatos.\n" for i in range(count)), encoding="utf-8")
    return path


def little_treebank(folder: Path, count: int = 120) -> Path:
    """Sentences whose second word is a noun after "the", and a verb after "they"."""
    path = folder / "little.conllu"
    words = ["dogs", "runs", "barks", "walks", "talks"]
    lines = []
    for i in range(count):
        first, tag, second = (("The", "DET", "NOUN"), ("They", "PRON", "VERB"))[i % 2]
        rows = [(first, tag), (words[i % 5], second), (".", "PUNCT")]
        lines += [f"{j}\t{word}\t_\t{tag}" + "\t_" * 6 for j, (word, tag) in enumerate(rows, start=1)] + [""]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CLASSIFIER_SETTINGS: dict[str, Any] = dict(
    steps=12, batch=16, width=8, vector_width=8, evaluate_every=4, checkpoint_every=3, log_every=2
)


def little_labelled(folder: Path, count: int = 120) -> Path:
    """Texts that one word gives away; the others vary."""
    path = folder / "labelled.tsv"
    lines = [f"{'bad' if i % 3 else 'good'}\ta {'bad' if i % 3 else 'good'} film number {i}\n" for i in range(count)]
    path.write_text("label\ttext\n" + "".join(lines), encoding="utf-8")
    return path


SEQ2SEQ_SETTINGS: dict[str, Any] = dict(
    steps=4, batch=8, width=16, embedding=8, context=24, warmup=2, tokenizer="bpe-300", validation=0.1, test=0.1,
    beams=2, evaluate_every=2, checkpoint_every=2,
)  # fmt: skip
LSTM_SETTINGS: dict[str, Any] = dict(
    width=12, context=16, batch=4, steps=12, evaluate_every=4, checkpoint_every=3, log_every=2, sample_tokens=5
)


def little_waves(folder: Path, count: int = 60) -> Path:
    """Series of 24 steps, a row each: slow and quick waves at random phases."""
    rng, t = np.random.default_rng(count), np.arange(24)
    rows = ["kind," + ",".join(f"t{i}" for i in t)]
    for i in range(count):
        values = np.sin(t * (0.4, 1.5)[i % 2] + rng.uniform(0, 6)) + 0.1 * rng.normal(size=24)
        rows.append(("slow", "quick")[i % 2] + "," + ",".join(f"{v:.4f}" for v in values))
    path = folder / "waves.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def little_sensor(folder: Path, steps: int = 600) -> Path:
    """Hourly values that go up and down with the day."""
    import pandas as pd

    hours, rng = np.arange(steps), np.random.default_rng(0)
    values = 10 + 3 * np.sin(2 * np.pi * hours / 24) + 0.3 * rng.normal(size=steps)
    path = folder / "sensor.csv"
    pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=steps, freq="h"), "sensor": values}).to_csv(
        path, index=False
    )
    return path


def sold_table(folder: Path) -> Path:
    from tabular import little_table

    return little_table(folder, "sold")


def embedded_digits(folder: Path) -> Path:
    return Path("digits")


# The data that a recipe is trained on, and its settings.
TRAINED: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "gpt": (little_text, SETTINGS),
    "bert": (little_text, BERT_SETTINGS),
    "transformer": (little_pairs, TRANSFORMER_SETTINGS),
    "tagger": (little_treebank, TAGGER_SETTINGS),
    "classifier": (little_labelled, CLASSIFIER_SETTINGS),
    "seq2seq": (little_pairs, SEQ2SEQ_SETTINGS),
    "lstm": (little_text, LSTM_SETTINGS),
    "markov": (little_text, dict(order=2, context=16)),
    "series-classifier": (little_waves, dict(steps=12, width=8, evaluate_every=6, checkpoint_every=6)),
    "anomaly": (little_sensor, dict(steps=12, width=8, evaluate_every=6, checkpoint_every=6)),
    "cnn": (embedded_digits, dict(steps=40, width=8, warmup=5, evaluate_every=20, checkpoint_every=20, ema=0.8)),
    "mlp": (sold_table, dict(steps=4, evaluate_every=2, checkpoint_every=2)),
    "logistic": (sold_table, dict(steps=4, evaluate_every=2, checkpoint_every=2)),
}


def train_once(recipe: str, shared: Path, report: Callable[..., Any]) -> Path:
    """The folder of the run; the first process that asks for it trains it, the others wait."""
    place = shared / recipe
    with FileLock(shared / f"{recipe}.lock"):
        if not (place / "digest.txt").exists():
            from cutaway.runs import execution

            shutil.rmtree(place, ignore_errors=True)  # of a process that failed
            place.mkdir()
            make_data, settings = TRAINED[recipe]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(execution, "report_run", report)  # the test that asks first may have replaced it
                execution.train(recipe, data=str(make_data(place)), out=place / "run", show="quiet", **settings)
            (place / "digest.txt").write_text(digest(place / "run"))
    return place / "run"


def digest(run: Path) -> str:
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.name.startswith("."))
    contents = [f"{path.relative_to(run)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files]
    return "".join(contents)


@pytest.fixture(scope="session")
def trained(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Path]]:
    """``trained("gpt")`` is the folder of a finished run, which no test may change."""
    from cutaway.runs import execution

    report = execution.report_run
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if hasattr(request.config, "workerinput") else own) / "trained"  # with xdist, one for all
    shared.mkdir(exist_ok=True)
    yield lambda recipe: train_once(recipe, shared, report)
    for noted in shared.glob("*/digest.txt"):
        run = noted.parent / "run"
        assert digest(run) == noted.read_text(), f"a test changed {run}; let it ask for own_run"


@pytest.fixture
def own_run(trained: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Any]:
    """``own_run("gpt")`` is a copy of that run, opened, for a test that changes it."""

    def copied(recipe: str) -> Any:
        import cutaway as cut

        return cut.load(shutil.copytree(trained(recipe), tmp_path / f"own-{recipe}"))

    return copied
