r"""A run that is there, finished or not: its model, settings and metrics, and what the model can do."""

import dataclasses
import functools
import os
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from torch import Tensor, nn

from cutaway.atomic_files import read_json, read_utf8, write_json
from cutaway.checksums import crc32_of_json
from cutaway.data.fingerprints import Fingerprint, digest_file, expect_same_data
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_settings
from cutaway.recipes.index import find_recipe
from cutaway.recipes.trained_models import read_trained
from cutaway.runs.metric_rows import MetricRows
from cutaway.tasks.abilities.dispatch import method_or_default
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject
from cutaway.tasks.task import Task
from cutaway.training.run_folder.checkpoints import latest_checkpoint, newest_weights, writing_to
from cutaway.training.run_folder.folder import (
    expect_file,
    expect_final,
    note_changed_config,
    read_checksums,
    read_config,
    read_metrics,
    resume_command,
    telling_changed_config,
)
from cutaway.training.run_folder.weights import expect_sound, is_whole
from cutaway.tuning.bases import find_base

if TYPE_CHECKING:
    from cutaway.runs.word_tables import WordTable
    from cutaway.tasks.series.backtesting import Backtest
    from cutaway.tasks.series.forecast_paths import Forecast


P = ParamSpec("P")
R = TypeVar("R")


def _by_config(method: "Callable[Concatenate[Run, P], R]") -> "Callable[Concatenate[Run, P], R]":
    """A method that reads config.json: one that was damaged since the run ended is told as that."""

    @functools.wraps(method)
    def told(run: "Run", *given: P.args, **how: P.kwargs) -> R:
        with telling_changed_config(run.path):
            return method(run, *given, **how)

    return told


class Run:
    """A run folder: ``run.model``, ``run.config``, ``run.metrics``, ``run.path``, ``run.generate(…)``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.about = read_config(self.path)  # all of config.json: settings, model spec, data, machine
        self.recipe = located(_settings_of(self.path, self.about), self.about, self.path)
        self._model: nn.Module | None = None

    @property
    def config(self) -> Recipe:
        """The recipe's settings."""
        return self.recipe

    @property
    def metrics(self) -> MetricRows:
        """Every line of metrics.jsonl: a list of dicts that shows itself as a table, in a notebook with its curve."""
        return MetricRows(read_metrics(self.path))

    @property
    def loss_unit(self) -> str:
        """The unit of the loss: the recipe's, unless the data decided which of several it is."""
        return self.about["data"].get("loss_unit", self.recipe.unit)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end, early stopping included: then its weights are there, whole."""
        return is_whole(self._own_weights)

    @property
    @_by_config
    def model(self) -> nn.Module:
        """The model with its trained weights (of an unfinished run: its newest checkpoint), in evaluation mode."""
        if self._model is None:
            weights = self._weights()
            if weights != self._own_weights:
                warnings.warn(
                    f"{self._progress(weights)}: these are its newest weights; {self._way_on()}", stacklevel=2
                )
            model = read_trained(self.recipe, self.about, weights)
            self.expect_vocabulary()
            note_changed_config(self.path)
            model.tokenizer = self.tokenizer
            self._model = model
        return self._model

    @cached_property
    def tokenizer(self) -> Any:
        """The run's tokenizer, read once; None if it has none."""
        from cutaway.data.text.tokenizers import load_tokenizer

        path = self.file("tokenizer.json")
        return None if path is None else load_tokenizer(path)

    @cached_property
    def task(self) -> Task:
        """What is asked of the run's data, by the files of its folder; the data is read when somebody asks for it."""
        return self.recipe.task_of(self)

    @cached_property
    def learner(self) -> Learner:
        """The run's model and how rows become its inputs."""
        return self.recipe.build(self.task, model=self.model)

    def file(self, name: str) -> Path | None:
        """A file that was written when the run began, if it is as it was written; None if the run has no such file."""
        return expect_file(self.path, self.about, name)

    @property
    def all_samples(self) -> dict[int, dict[str, str]]:
        """What was sampled at every evaluation: step → name → text."""
        listed = [name for name in read_checksums(self.path) if name.startswith("samples/")]
        names = {f"samples/{path.name}" for path in (self.path / "samples").glob("step-*-*")} | set(listed)
        found: dict[int, dict[str, str]] = {}
        for file in sorted(names):
            if sample := re.fullmatch(r"samples/step-(\d{1,18})-(.+)", file):  # other files are yours
                expect_final(self.path, file)
                found.setdefault(int(sample[1]), {})[sample[2]] = read_utf8(self.path / file)
        return dict(sorted(found.items()))

    @property
    def samples(self) -> dict[str, str]:
        """What was sampled last: name → text."""
        return next(reversed(self.all_samples.values()), {})

    @_by_config
    def test(self, unfinished: bool = False) -> dict[str, float]:
        """Metrics on the test split, which nothing else reads. It is read once: later calls return what was noted.

        A run that is not finished is refused, unless ``unfinished`` says that the split is to be spent on it.
        """
        path = self._weights()
        if path != self._own_weights and not unfinished:
            raise ValueError(
                f"the test split is read once, when a run is finished, but {self._progress(path)}; {self._way_on()}, "
                "or read it now: --unfinished, in Python run.test(unfinished=True)"
            )
        expect_sound(path)
        weights = digest_file(path)
        if (before := self.test_results) is not None:
            if before["weights"] != weights:
                raise ValueError(
                    f"the test split is read once, and it was, for other weights of {self.path}; to choose between "
                    "models use the validation split, else the test is none any more (to start over, delete test.json)"
                )
            return before["metrics"]
        metrics = self.method("test_metrics", "be tested")()
        results = {"weights": weights, "metrics": metrics}
        with writing_to(self.path):
            write_json(self.path / "test.json", results | {"crc32": crc32_of_json(results)}, parents=False)
        return metrics

    @property
    def test_results(self) -> dict[str, Any] | None:
        """What was noted when the test split was read: the digest of the weights, and metrics; None before."""
        path = self.path / "test.json"
        if not path.exists():
            return None
        results = read_json(path, "weights", "metrics")
        checksum = results.pop("crc32", None)
        if not isinstance(results["metrics"], dict) or (checksum and checksum != crc32_of_json(results)):
            raise ValueError(f"test.json must be as it was written, got {path}, which changed; take it from a copy")
        return results

    def expect_same_data(self, fingerprint: Fingerprint) -> None:
        """The data must be what the run was trained on: else its parts are others."""
        stored = self.about["data"].get("fingerprint")
        if stored is not None:
            expect_same_data(Fingerprint.from_dict(stored), fingerprint, self.recipe.data)

    def expect_vocabulary(self) -> None:
        """The tokenizer must have the tokens of the model, where there is one and the model was made for it."""
        if not self.recipe.own_vocabulary:
            return
        vocabulary = (self.about.get("spec") or {}).get("vocabulary")
        if self.tokenizer is not None and vocabulary not in (None, self.tokenizer.vocabulary):
            raise ValueError(
                f"a run's tokenizer must have the tokens of its model, got {self.tokenizer.vocabulary} in "
                f"tokenizer.json and {vocabulary} in config.json of {self.path}; take both files from one copy"
            )

    @property
    def _own_weights(self) -> Path:
        """Where the run's weights are once it is finished."""
        return self.path / "model.safetensors"

    def _weights(self) -> Path:
        """The run's own weights, or those of its newest checkpoint while it is unfinished."""
        if self._own_weights.exists():
            return self._own_weights
        checkpoint = latest_checkpoint(self.path)
        if checkpoint is None:
            raise ValueError(f"a run needs a checkpoint to be used, got {self.path} without one; {self._way_on()}")
        return newest_weights(checkpoint)

    def _progress(self, weights: Path) -> str:
        """How far an unfinished run has come, by the checkpoint of its weights."""
        step = weights.parent.name.removeprefix("step-")
        return f"{self.path} is not finished (step {step} of {self.recipe.steps})"

    def _way_on(self) -> str:
        return f"to go on: {resume_command(self.recipe.name, self.path)}"

    def method(self, name: str, what: str = "do that") -> Callable[..., Any]:
        """What does that for this run."""
        method = method_or_default(self, name)
        if method is None:
            own = self.recipe.name
            raise ValueError(f"a run of {own!r} cannot {what}; `cutaway list recipes` tells what each can do")
        return method

    def subject(self, given: str | None = None) -> Subject:
        """What a look puts into the model: what was given, else data that it was not trained on."""
        return self.method("subject", "be looked at")(given)

    @_by_config
    def generate(self, prompt: Any = "\n", tokens: int = 200, **how: Any) -> str:
        """Text that goes on from the prompt, a text or a list of chat messages.

        ``how``: temperature, top_k, top_p, min_p, seed, stop, speculate, special …
        """
        return self.method("generate", "generate text")(prompt, tokens=tokens, **how)

    @_by_config
    def predict(self, inputs: Any = None, data: Any = None, vertices: Any = None) -> Any:
        """Predictions for new inputs.

        Of a run on a graph, ``data`` is another graph with the same columns (its edges, and a table of its
        ``vertices``), in which the inputs are. Without inputs, all vertices of the graph.
        """
        inputs = (self.recipe.whole_input or None) if inputs is None else inputs
        if data is not None:
            cannot = "predict in other data than its own: its inputs are the data"
            return self.method("predict_in", cannot)(inputs or "", data, vertices)
        if vertices is not None:
            raise ValueError("a table of vertices goes with other data, got vertices without data; give its edges too")
        if inputs is None:
            raise ValueError(f"there must be something to predict for, got no inputs; give {self.recipe.input}")
        if not hasattr(type(self.recipe), "predict") and self.recipe.kind and hasattr(self.task, "answers"):
            task: Any = self.task
            rows = task.inputs(inputs)
            return task.answers(self.learner.outputs(rows), rows)  # type: ignore[attr-defined]
        return self.method("predict", "predict")(inputs)

    @_by_config
    def embed(self, inputs: Any) -> Tensor:
        """A vector for each input (n, width): texts, words or images, as the recipe says; of a single text (width,)."""
        return self.method("embed", "embed")(inputs)

    @_by_config
    def sample(
        self,
        count: int = 16,
        label: Any = None,
        guidance: float | None = None,
        steps: int | None = None,
        seed: int = 0,
    ) -> Any:
        """New images (count, channels, height, width), pixels from 0 to 1; of a class ``label``, or one for each.

        ``guidance`` and ``steps`` are for runs of `diffusion`, which without a label makes every class in turn (and
        with ``guidance=0`` images of no class); the same ``seed`` gives the same images. A run of `graph-rnn` gives a
        list of graphs, each a `cut.blocks.Graph`.
        """
        return self.method("make_samples", "make images or graphs")(count, label, guidance, steps, seed)

    @_by_config
    def encode(self, images: Any) -> Tensor:
        """Codes (n, width) of images: a path, several, arrays, tensors."""
        return self.method("encode", "encode images")(images)

    @_by_config
    def decode(self, codes: Any) -> Tensor:
        """Images (n, channels, height, width) of codes (n, width), pixels from 0 to 1."""
        return self.method("decode", "decode codes")(codes)

    @cached_property
    def word_table(self) -> "WordTable":
        """The run's words and their vectors, read once."""
        from cutaway.runs.word_tables import WordTable

        return WordTable(*self.method("word_rows", "list words")())

    @_by_config
    def nearest(
        self,
        words: str | Sequence[str],
        k: int = 10,
        negative: str | Sequence[str] = (),
        approximate: bool = False,
        among: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The ``k`` words nearest to a word, or to a sum of words less the ``negative`` ones, by cosine.

        ``run.nearest("king - man + woman")`` is ``run.nearest(["king", "woman"], negative=["man"])``. With ``among``,
        texts, the nearest of these to the text ``words``, by the vectors of `embed`.
        """
        if among is not None:
            from cutaway.runs.embedded_items import nearest_texts

            return nearest_texts(self, words, among, k, negative, approximate)
        return self.word_table.nearest(words, k, negative, approximate)

    @_by_config
    def forecast(
        self,
        history: Any = None,
        horizon: int | None = None,
        future: Any = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        samples: int = 200,
        seed: int = 0,
    ) -> "Forecast":
        """What comes after some series: quantiles, means and whole paths of the next ``horizon`` steps, by series.

        ``history`` are other series than those trained on: a file, a DataFrame, a dict of arrays … ``future`` holds the
        covariates known ahead, if the history does not.
        """
        return self.method("forecast", "forecast")(history, horizon, future, quantiles, samples, seed)

    @_by_config
    def backtest(self, windows: int | None = None, samples: int = 200, seed: int = 0) -> "Backtest":
        """Forecasts of the last ``windows`` windows of every series beside what came; by default those of validation.

        ``samples`` paths are drawn for each.
        """
        return self.method("backtest", "forecast")(windows, samples, seed)

    def __repr__(self) -> str:
        metrics = self.metrics
        done = f"step {metrics[-1].get('step')} of {self.recipe.steps}" if metrics else "not trained here"
        return f"Run({str(self.path)!r}, {self.recipe.name}, {done})"


def _settings_of(path: Path, about: dict[str, Any]) -> Recipe:
    kind = find_recipe(about["recipe"])
    try:
        expect_settings(kind, about["config"])
        return kind(**about["config"])
    except ValueError as error:
        raise ValueError(f"the settings in {path / 'config.json'} must be those of a recipe: {error}") from None


def located(recipe: Recipe, about: dict[str, Any], folder: Path) -> Recipe:
    """The recipe with its files where they are.

    Its data: in the run folder, as given, or (from another folder) by the path noted. Test files, vectors and the like:
    by the path noted, or as given.
    """
    told = about["data"]
    noted = told.get("files") or ({"test_file": told["test_path"]} if told.get("test_path") else {})
    moved = {name: path for name, path in noted.items() if getattr(recipe, name, "") and os.path.exists(str(path))}
    path = told.get("path")
    if "stored" in told:
        moved["data"] = str(folder / told["stored"])
    elif path is not None and not os.path.exists(recipe.data) and os.path.exists(path):
        moved["data"] = path
    if (noted := told.get("base")) and getattr(recipe, "base", "") and (base := find_base(noted, folder)) is not None:
        moved["base"] = str(base)
    return dataclasses.replace(recipe, **moved) if moved else recipe
