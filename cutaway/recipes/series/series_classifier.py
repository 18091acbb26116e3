r"""`series-classifier`: the class of a whole series, from examples: gestures, heartbeats, machines, shapes."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import pandas

    from cutaway.data.series.labelled_series import LabelledSeries
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class SeriesClassifierRecipe(Recipe):
    """Gives a whole series one class: by convolutions over time, or by a recurrent net in both directions.

    A file has a series in each row (its class in one column), a step in each row (with a column that says which series
    it belongs to), or is a .ts file of the UEA & UCR archives. Series may be of different lengths.
    """

    name: ClassVar[str] = "series-classifier"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="series.csv", gives="series in; a class for each out"),
        Offer("look", takes="series.csv"),
    )
    quality: ClassVar[str] = (
        "Test accuracy on archive data, beside the published InceptionTime and the nearest training series: GunPoint "
        "1.00 (1.00, 0.91), ItalyPowerDemand 0.959 (0.966, 0.955), ArrowHead 0.82 (0.86, 0.80), OSULeaf 0.84 (0.92, "
        "0.52); of several channels: BasicMotions 1.00 (nearest 0.60), JapaneseVowels 0.984 (0.951). 3 to 45 s of one "
        "core each, one seed, 300 steps. `python benchmarks/run.py series_classes` measures it."
    )
    unit: ClassVar[str] = "nats a series"

    data: str = "cylinder-bell-funnel"
    """a CSV, Parquet or .ts file, or the name of an embedded sample (`cutaway list data`)"""
    target: str = setting("", FIRST)
    """the column of the class (default: one called class, label or target, else found by sight)"""
    series: str = setting("", DATA)
    """the column that says which series a row belongs to, if rows are steps (default: series, unique_id or id)"""
    time: str = setting("", DATA)
    """the column that orders the steps of a series (default: time, step or ds, else the order of the rows)"""
    validation: float = setting(0.2, DATA)
    """share of the series to evaluate on; 0 for none"""
    test: float = setting(0.2, DATA)
    """share of the series for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test series of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""
    design: Literal["conv", "rnn"] = setting("conv", FIRST)
    """convolutions over time, or a bidirectional LSTM"""
    width: int = setting(64, FIRST)
    """filters of a convolution, or units of a direction"""
    depth: int = setting(3, FIRST)
    """layers"""
    dropout: float = 0.2
    """share of pooled values dropped in training"""
    augment: float = setting(0.0, DATA)
    """strength of random noise, size and speed in training, where they keep the class; 1 is the usual, 0 for none"""

    steps: int = 300
    """optimizer steps, at most"""
    batch: int = 32
    """series in a batch; fewer series are taken whole"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    rate: float = 2e-3
    """full learning rate"""
    ema: float = 0.98
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    evaluate_every: int = 25
    """steps between evaluations"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth")
        expect_at_least(self, 0, "augment")
        expect_share(self, "validation", "test", "dropout")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs series to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def dataset(self, run: "Run | None" = None) -> "LabelledSeries":
        """The series in their three parts; those of a ``run`` must be as they were."""
        from cutaway.data.series.labelled_series import read_labelled_series

        found = read_labelled_series(
            self.data,
            target=self.target,
            group=self.series,
            time=self.time,
            validation=self.validation,
            test=self.test_file or self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
        )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.atomic_files import write_json
        from cutaway.models.sequences.series_classifier import SeriesClassifier
        from cutaway.tasks.series.classify import SeriesBatches, neighbour_baseline, series_cost, series_metrics
        from cutaway.training.jobs import Job

        data = self.dataset()
        torch.manual_seed(self.seed)
        model = SeriesClassifier(
            classes=len(data.labels),
            channels=len(data.channels),
            design=self.design,
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
        )
        model.set_scale(torch.from_numpy(data.train.values), torch.from_numpy(data.train.lengths))
        facts = {"summary": data.summary(), "fingerprint": data.fingerprint.to_dict(), "source": self.data}
        if data.validation is not None:
            facts["baseline"] = neighbour_baseline(data.train, data.validation)
        batch = min(self.batch, len(data.train.targets))
        classes = {
            "labels": list(data.labels),
            "channels": list(data.channels),
            "target": data.target,
            "columns": data.columns,
            "left_out": list(data.left_out),
        }
        return Job(
            model=model,
            batches=SeriesBatches(data.train, batch, self.seed, rank, world),
            objective=partial(series_cost, augment=self.augment),
            evaluate=lambda m: {} if data.validation is None else series_metrics(m, data.validation),
            units=batch,
            unit="series",
            files={"classes.json": lambda path: write_json(path, classes)},
            data=facts,
            better="accuracy",
            more_is_better=True,
        )

    def smaller(self) -> str:
        return f"lower batch={self.batch} or width={self.width}"

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.series.classify import neighbour_baseline, series_metrics

        data = self.dataset(run)
        rows = data.open_test()
        naive = neighbour_baseline(data.train, rows)["metrics"]
        return series_metrics(run.model, rows) | {"baseline_accuracy": naive["accuracy"]}

    def predict(self, run: "Run", inputs: Any) -> "pandas.DataFrame":
        """The class of each series of a file or a DataFrame, and its probabilities."""
        from cutaway.extras import need
        from cutaway.tasks.series.classify import classes_of, read_new_series, series_outputs

        pd = need("pandas", "tables", "predicting for series")
        rows = read_new_series(self, run, inputs)
        p = series_outputs(run.model, rows).softmax(-1).double().numpy()
        labels = classes_of(run)["labels"]
        columns = {"class": [labels[i] for i in p.argmax(1)]}
        return pd.DataFrame(columns | {f"P({label})": p[:, j] for j, label in enumerate(labels)})

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Series of a file; without one, series that it was not trained on (or was, if there are no others)."""
        from cutaway.tasks.series.classify import choose_each, read_new_series, series_subject

        if given is not None:
            return series_subject(run, read_new_series(self, run, given), "your series")
        data = self.dataset(run)
        rows = data.train if data.validation is None else data.validation
        words = "series that it was trained on" if data.validation is None else "series that it was not trained on"
        return series_subject(run, rows.take(choose_each(rows.targets)), f"one of each class, {words}")
