r"""A run that is there, finished or not: its model, settings and metrics, and what the model can do."""

import dataclasses
import functools
import os
import re
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from torch import nn

from cutaway.atomic_files import read_json, read_utf8
from cutaway.checksums import crc32_of_json
from cutaway.data.fingerprints import Fingerprint, expect_same_data
from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_settings
from cutaway.recipes.index import IMPORTED, find_recipe
from cutaway.recipes.trained_models import read_trained
from cutaway.runs.metric_rows import MetricRows
from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.index import find_ability, known_verbs
from cutaway.tasks.abilities.verbs.nearest import word_rows
from cutaway.tasks.subjects import Subject, subject_of
from cutaway.training.run_folder.checkpoints import latest_checkpoint, newest_weights
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
from cutaway.training.run_folder.weights import is_whole
from cutaway.tuning.bases import find_base

if TYPE_CHECKING:
    from cutaway.runs.attacked import attack as verb_attack
    from cutaway.runs.checkpoints_in_and_out import export as verb_export
    from cutaway.runs.testing import test as verb_test
    from cutaway.runs.word_tables import WordTable
    from cutaway.runs.word_tables import nearest as verb_nearest
    from cutaway.tasks.abilities.verbs.backtest import backtest as verb_backtest
    from cutaway.tasks.abilities.verbs.decode import decode as verb_decode
    from cutaway.tasks.abilities.verbs.embed import embed as verb_embed
    from cutaway.tasks.abilities.verbs.encode import encode as verb_encode
    from cutaway.tasks.abilities.verbs.forecast import forecast as verb_forecast
    from cutaway.tasks.abilities.verbs.generate import generate as verb_generate
    from cutaway.tasks.abilities.verbs.predict import predict as verb_predict
    from cutaway.tasks.abilities.verbs.sample import sample as verb_sample


P = ParamSpec("P")
R = TypeVar("R")


def _by_config(method: "Callable[Concatenate[Run, P], R]") -> "Callable[Concatenate[Run, P], R]":
    """A method that reads config.json: one that was damaged since the run ended is told as that."""

    @functools.wraps(method)
    def told(run: "Run", *given: P.args, **how: P.kwargs) -> R:
        with telling_changed_config(run.path):
            return method(run, *given, **how)

    return told


def _expecting(ability: Ability) -> "Callable[..., Any]":
    """The function of an ability; one that needs no method of the run's family refuses by its own check."""
    function = ability.function()
    if ability.needs or not ability.check:
        return function

    @functools.wraps(function)
    def checked(run: "Run", *given: Any, **how: Any) -> Any:
        if why := ability.refuses(run):
            raise ValueError(why)
        return function(run, *given, **how)

    return checked


class Run:
    """A run folder: ``run.model``, ``run.config``, ``run.metrics``, ``run.path``, ``run.generate(…)``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.about = read_config(self.path)  # all of config.json: settings, model spec, data, machine
        self.recipe = located(_settings_of(self.path, self.about), self.about, self.path)
        self._model: nn.Module | None = None

    if TYPE_CHECKING:  # verbs, for editors and type checkers: at run time they come from the table of abilities
        attack = verb_attack
        export = verb_export
        test = verb_test
        nearest = verb_nearest
        backtest = verb_backtest
        decode = verb_decode
        embed = verb_embed
        encode = verb_encode
        forecast = verb_forecast
        generate = verb_generate
        predict = verb_predict
        sample = verb_sample

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
        return is_whole(self.own_weights)

    @property
    @_by_config
    def model(self) -> nn.Module:
        """The model with its trained weights (of an unfinished run: its newest checkpoint), in evaluation mode."""
        if self._model is None:
            weights = self.weights()
            if weights != self.own_weights:
                warnings.warn(f"{self.progress(weights)}: these are its newest weights; {self.way_on()}", stacklevel=2)
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
    def task(self) -> Any:
        """The run's `Task`, by the files of its folder; the data is read when somebody asks for it."""
        return self.recipe.task_of(self)

    @cached_property
    def learner(self) -> Any:
        """The run's `Learner`: its model and how rows become its inputs."""
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
        if self.recipe.name in IMPORTED or self.about["data"].get("base"):
            return  # checkpoints may have room for more tokens than their tokenizer, or less
        vocabulary = (self.about.get("spec") or {}).get("vocabulary")
        if self.tokenizer is not None and vocabulary not in (None, self.tokenizer.vocabulary):
            raise ValueError(
                f"a run's tokenizer must have the tokens of its model, got {self.tokenizer.vocabulary} in "
                f"tokenizer.json and {vocabulary} in config.json of {self.path}; take both files from one copy"
            )

    @property
    def own_weights(self) -> Path:
        """Where the run's weights are once it is finished."""
        return self.path / "model.safetensors"

    def weights(self) -> Path:
        """The run's own weights, or those of its newest checkpoint while it is unfinished."""
        if self.own_weights.exists():
            return self.own_weights
        checkpoint = latest_checkpoint(self.path)
        if checkpoint is None:
            raise ValueError(f"a run needs a checkpoint to be used, got {self.path} without one; {self.way_on()}")
        return newest_weights(checkpoint)

    def progress(self, weights: Path) -> str:
        """How far an unfinished run has come, by the checkpoint of its weights."""
        step = weights.parent.name.removeprefix("step-")
        return f"{self.path} is not finished (step {step} of {self.recipe.steps})"

    def way_on(self) -> str:
        return f"to go on: {resume_command(self.recipe.name, self.path)}"

    def method(self, name: str, what: str = "do that") -> Callable[..., Any]:
        """The method of the run's family that answers; a family that has none is refused."""
        found = find_method(self, name)
        if found is None:
            own = self.recipe.name
            raise ValueError(
                f"a run of {own!r} cannot {what}; `cutaway list abilities {self.path}` tells what it can do"
            )
        return found

    def subject(self, given: str | None = None) -> Subject:
        """What a look puts into the model: what was given, else data that it was not trained on."""
        return subject_of(self, given)

    @cached_property
    def word_table(self) -> "WordTable":
        """The run's words and their vectors, read once."""
        from cutaway.runs.word_tables import WordTable

        return WordTable(*word_rows(self))

    def __getattr__(self, name: str) -> Any:
        """``run.VERB``: an ability (`cut.abilities(run)` lists them), bound to this run."""
        if hasattr(type(self), name):  # a property that raised AttributeError: its own error is told
            return object.__getattribute__(self, name)
        ability = None if name.startswith("_") else find_ability(name)
        if ability is None:
            verbs = ", ".join(known_verbs())
            raise AttributeError(f"a run has no {name!r}; it has path, model, config, metrics …, and the verbs {verbs}")
        return MethodType(_by_config(_expecting(ability)), self)

    @override
    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *known_verbs()})

    @override
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
