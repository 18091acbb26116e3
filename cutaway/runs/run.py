r"""A run that is there, finished or not: its model, settings and metrics, and what the model can do."""

import dataclasses
import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cutaway.atomic_files import write_json
from cutaway.data.fingerprints import Fingerprint, digest_file, expect_same_data
from cutaway.recipes.base import Recipe
from cutaway.recipes.index import find_recipe
from cutaway.training.run_folder.checkpoints import latest_checkpoint, newest_weights, read_tensors, writing_to
from cutaway.training.run_folder.folder import read_config, read_metrics, resume_command


class Run:
    """A run folder: ``run.model``, ``run.config``, ``run.metrics``, ``run.path``, ``run.generate(…)``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.about = read_config(self.path)  # all of config.json: settings, model spec, data, machine
        self.recipe = located(find_recipe(self.about["recipe"])(**self.about["config"]), self.about)
        self._model: nn.Module | None = None

    @property
    def config(self) -> Recipe:
        """The recipe's settings."""
        return self.recipe

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Every line of metrics.jsonl."""
        return read_metrics(self.path)

    @property
    def finished(self) -> bool:
        return (self.path / "model.safetensors").is_file()

    @property
    def model(self) -> nn.Module:
        """The model with its trained weights (of an unfinished run: its newest checkpoint), in evaluation mode."""
        if self._model is None:
            with torch.device("meta"):
                model = self.recipe.open_model(self.about)
            if not self.finished:
                warnings.warn(f"{self._progress()}: these are its newest weights; {self._way_on()}", stacklevel=2)
            model.load_state_dict(read_tensors(self._weights()), assign=True)
            model.tokenizer = self.tokenizer
            self._model = model.eval()
        return self._model

    @cached_property
    def tokenizer(self) -> Any:
        """The run's tokenizer, read once; None if it has none."""
        from cutaway.data.text.tokenizers import load_tokenizer

        path = self.path / "tokenizer.json"
        return load_tokenizer(path) if path.is_file() else None

    @property
    def all_samples(self) -> dict[int, dict[str, str]]:
        """What was sampled at every evaluation: step → name → text."""
        found: dict[int, dict[str, str]] = {}
        for path in (self.path / "samples").glob("step-*-*"):
            _, step, name = path.name.split("-", 2)
            found.setdefault(int(step), {})[name] = path.read_text(encoding="utf-8")
        return dict(sorted(found.items()))

    @property
    def samples(self) -> dict[str, str]:
        """What was sampled last: name → text."""
        return next(reversed(self.all_samples.values()), {})

    def test(self, unfinished: bool = False) -> dict[str, float]:
        """Metrics on the test split, which nothing else reads. It is read once: later calls return what was noted.

        A run that is not finished is refused, unless ``unfinished`` says that the split is to be spent on it.
        """
        if not (self.finished or unfinished):
            raise ValueError(
                f"the test split is read once, when a run is finished, but {self._progress()}; {self._way_on()}, "
                "or read it now: --unfinished, in Python run.test(unfinished=True)"
            )
        noted = self.path / "test.json"
        weights = digest_file(self._weights())
        if noted.is_file():
            before = json.loads(noted.read_text(encoding="utf-8"))
            if before["weights"] != weights:
                raise ValueError(
                    f"the test split is read once, and it was, for other weights of {self.path}; to choose between "
                    "models use the validation split, else the test is none any more (to start over, delete test.json)"
                )
            return before["metrics"]
        metrics = self.recipe.test_metrics(self)
        with writing_to(self.path):
            write_json(noted, {"weights": weights, "metrics": metrics})
        return metrics

    def expect_same_data(self, fingerprint: Fingerprint) -> None:
        """The data must be what the run was trained on: else its parts are others."""
        stored = self.about["data"].get("fingerprint")
        if stored is not None:
            expect_same_data(Fingerprint.from_dict(stored), fingerprint, self.recipe.data)

    def _weights(self) -> Path:
        """The run's own weights, or those of its newest checkpoint while it is unfinished."""
        if self.finished:
            return self.path / "model.safetensors"
        return newest_weights(self._checkpoint())

    def _checkpoint(self) -> Path:
        checkpoint = latest_checkpoint(self.path)
        if checkpoint is None:
            raise ValueError(f"a run needs a checkpoint to be used, got {self.path} without one; {self._way_on()}")
        return checkpoint

    def _progress(self) -> str:
        """How far a run that is not finished has come."""
        step = self._checkpoint().name.removeprefix("step-")
        return f"{self.path} is not finished (step {step} of {self.recipe.steps})"

    def _way_on(self) -> str:
        return f"to go on: {resume_command(self.recipe.name, self.path)}"

    def generate(self, prompt: str = "\n", tokens: int = 200, **how: Any) -> str:
        """Text that goes on from the prompt; ``how``: temperature, top_k, top_p, min_p, seed, stop …"""
        return self.recipe.generate(self, prompt, tokens=tokens, **how)

    def predict(self, inputs: Any) -> Any:
        """Predictions for new inputs."""
        return self.recipe.predict(self, inputs)

    def __repr__(self) -> str:
        metrics = self.metrics
        done = f"step {metrics[-1]['step']} of {self.recipe.steps}" if metrics else "not trained here"
        return f"Run({str(self.path)!r}, {self.recipe.name}, {done})"


def located(recipe: Recipe, about: dict[str, Any]) -> Recipe:
    """The recipe with its data where it is: as given, else (from another folder) by the path that was noted."""
    path = about["data"].get("path")
    if path is not None and not os.path.exists(recipe.data) and os.path.exists(path):
        return dataclasses.replace(recipe, data=path)
    return recipe
