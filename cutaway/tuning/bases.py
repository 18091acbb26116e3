r"""The base of a tuned run: the model of a run folder or of a checkpoint, and what comes with it.

A tuned run holds what was learned. The weights of its base that stay as they are are not written again:

    config.json     data.base: path, digest (sha256), weights "referenced" | "copied"
    referenced      the base is looked for in RUN/base (a folder, or a link to one), by its path, by its place beside
                    the run folder as it was, and as it was given; its digest must be the one noted
    copied          base.safetensors in the run folder has them (--self-contained, or a base that is still in training)

Runs made before this have all weights in model.safetensors.
"""

import os
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from cutaway.data.fingerprints import digest_file, fingerprint_files
from cutaway.recipes.index import find_recipe
from cutaway.recipes.trained_models import read_trained
from cutaway.training.adapters.records import named_parameters, settle_values
from cutaway.training.adapters.stacked_adapters import stack_facts
from cutaway.training.run_folder.checkpoints import latest_checkpoint, newest_weights
from cutaway.training.run_folder.folder import expect_file, read_config
from cutaway.training.run_folder.weights import read_tensors
from cutaway.tuning.methods import without_updates

if TYPE_CHECKING:
    from cutaway.tuning.settings import Files

LINK = "base"  # in a run folder: the base itself, or a link to where it is now
COPY = "base.safetensors"  # in a run folder: weights of the base that stay as they are
REFERENCED, COPIED = "referenced", "copied"


@dataclass(frozen=True, eq=False)
class Base:
    """A trained model in float32, its tokenizer if it has one, and the digest of its weights.

    ``about`` is the config.json of a run; {} of a checkpoint.
    """

    path: str
    folder: Path
    model: Any
    tokenizer: Any
    digest: str
    about: dict[str, Any]
    kept: str = ""  # what became of its LoRA or adapters, in words
    finished: bool = True  # whether its weights stay as they are

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can be tuned for."""
        return tuple(getattr(self.model, "tasks", ()))

    @property
    def usual_way(self) -> str:
        """How it is tuned if nobody chooses."""
        return getattr(self.model, "tuned_by", "full")

    def file(self, name: str) -> Path | None:
        """A file of the base's folder, as it was written; None if there is none."""
        if self.about:
            return expect_file(self.folder, self.about, name)
        return self.folder / name if (self.folder / name).is_file() else None

    def expect_task(self, task: str) -> None:
        """The model must be one that the task is for."""
        if task not in self.tasks:
            raise ValueError(
                f"a {type(self.model).__name__} can be tuned for {told_tasks(self.tasks)}, got task={task!r} for "
                f"{self.path}; choose another task or base"
            )

    def expect_tokenizer(self) -> Any:
        """The tokenizer, without which no text can be read."""
        if self.tokenizer is None:
            raise ValueError(
                f"a model of text needs the tokenizer that it was trained with, got {self.path} without a "
                "tokenizer.json; take it from where the checkpoint came from"
            )
        return self.tokenizer

    def facts(self) -> dict[str, Any]:
        """What config.json says of it."""
        about = {"path": os.path.abspath(self.folder), "given": self.path, "digest": self.digest}
        about |= {"model": getattr(getattr(self.model, "spec", None), "model", type(self.model).__name__)}
        generation = getattr(self.model, "generation_config", None)
        stacked = stack_facts(self.model)
        return about | ({"generation": generation} if generation else {}) | ({"adapters": stacked} if stacked else {})

    def in_words(self) -> str:
        count = sum(parameter.numel() for parameter in self.model.parameters())
        kept = f"; {self.kept}" if self.kept else ""
        kind = type(self.model).__name__
        return f"base: {self.path}, a {kind} of {count:,} parameters, sha256 {self.digest[:12]}{kept}"

    def files(self) -> "Files":
        """What a tuned run takes over."""
        if self.tokenizer is None:
            return {}
        return {"tokenizer.json": self.tokenizer.save, "tokenizer_config.json": self.tokenizer.save_settings}


def told_tasks(tasks: tuple[str, ...]) -> str:
    return ", ".join(tasks) if tasks else "nothing yet"


def open_base(source: str) -> Base:
    """The base at a path: a run folder, or a checkpoint (a folder, or a hub id)."""
    folder = Path(os.path.expanduser(source))
    if is_run(folder):
        return _of_run(source, folder)
    from cutaway.hub.checkpoint_files import locate
    from cutaway.hub.pretrained import from_pretrained

    folder = locate(source)
    model = from_pretrained(folder, torch.float32)
    return _expect_tunable(Base(source, folder, model, model.tokenizer, digest_of(folder), {}))


def digest_of(folder: Path) -> str:
    """The digest of the weights in a run folder or a checkpoint's folder."""
    if is_run(folder):
        return digest_file(_weights_of(folder, str(folder)))
    from cutaway.hub.checkpoint_files import tensor_files
    from cutaway.hub.head_files import TENSORS

    files = [*tensor_files(folder), *folder.glob(TENSORS)]
    return fingerprint_files({path.name: path for path in files}).digest


def base_places(noted: dict[str, Any], run: Path) -> list[Path]:
    """Where the base of a run may be, in the order in which it is looked for."""
    given = [run / LINK, Path(str(noted["path"]))]
    if beside := noted.get("beside"):
        given.append(Path(os.path.normpath(run.resolve() / str(beside))))
    if noted.get("given"):
        given.append(Path(os.path.abspath(os.path.expanduser(str(noted["given"])))))
    return list(dict.fromkeys(given))


def find_base(noted: dict[str, Any], run: Path) -> Path | None:
    """The first place that holds a folder; None if none does."""
    return next((place for place in base_places(noted, run) if place.is_dir()), None)


def place_beside(base: str, run: Path) -> str:
    """Where a base is, seen from a run folder: both may be moved together. "" if no path leads there."""
    try:
        return os.path.relpath(os.path.realpath(base), os.path.realpath(run))
    except ValueError:  # another drive
        return ""


def expect_base(noted: dict[str, Any], run: Path) -> Path:
    """The folder of a run's base, which must be there with the weights that it had."""
    where = [place for place in base_places(noted, run) if place.is_dir()]
    found: dict[Path, str] = {}
    for place in where:
        try:
            found[place] = digest_of(place)
        except (ValueError, OSError) as error:
            found[place] = str(error)
        if found[place] == noted["digest"]:
            return place
    what = f"{noted.get('given') or noted['path']}, sha256 {noted['digest']}"
    way_out = f"bring it back, put it or a link to it at {run / LINK}, or tune with --self-contained"
    if not found:
        looked = ", ".join(str(place) for place in base_places(noted, run))
        raise ValueError(
            f"the run {run} holds what was learned and needs the base that it was tuned from ({what}), got none; "
            f"looked in {looked}; {way_out}"
        )
    others = ", ".join(f"{place} ({told})" for place, told in found.items())
    raise ValueError(
        f"the run {run} holds what was learned and needs the base that it was tuned from ({what}), got other weights "
        f"in {others}; {way_out}"
    )


class BaseOfRun(NamedTuple):
    """The weights that a tuned run leaves to its base; of runs made before, which have all, none."""

    about: dict[str, Any]
    folder: Path

    @property
    def noted(self) -> dict[str, Any]:
        return self.about["data"].get("base") or {}

    def shapes(self) -> list[tuple[int, ...]]:
        return read_base_shapes(self.about, self.noted, self.folder) if self.noted.get("weights") else []

    def tensors(self, model: nn.Module, names: Collection[str]) -> dict[str, Tensor]:
        noted = self.noted
        return read_base_weights(model, self.about, noted, self.folder, names) if noted.get("weights") else {}

    def settle(self, model: nn.Module) -> None:
        settle_values(model)


def read_base_weights(
    model: nn.Module, about: dict[str, Any], noted: dict[str, Any], folder: Path, names: Collection[str]
) -> dict[str, Tensor]:
    """The weights of a run that its own file leaves out, by their names in the model's state dict."""
    if noted["weights"] == COPIED:
        path = expect_file(folder, about, COPY)
        if path is None:
            raise ValueError(f"a self-contained run needs its {COPY}, got {folder} without it; take it from a copy")
        return read_tensors(path)
    there = named_parameters(open_base(str(expect_base(noted, folder))).model)
    addresses = {id(p): address for address, p in named_parameters(model).items()}
    state = model.state_dict(keep_vars=True)
    own = {name: addresses.get(id(state[name]), "") for name in names}
    return {name: there[address].detach() for name, address in own.items() if address in there}


def read_base_shapes(about: dict[str, Any], noted: dict[str, Any], folder: Path) -> list[tuple[int, ...]]:
    """The shapes of the tensors that a run's base has, from the heads of its files; that of a run may have its own."""
    if noted["weights"] == COPIED:
        return _shapes_in(folder / COPY)
    place = find_base(noted, folder) or expect_base(noted, folder)  # which says where it looked
    if not is_run(place):
        from cutaway.hub.checkpoint_files import tensor_files

        return [shape for path in tensor_files(place) for shape in _shapes_in(path)]
    own = read_config(place)
    weights = _weights_of(place, str(place))
    elsewhere = find_recipe(own["recipe"])(**own["config"]).weights_elsewhere(own, place)
    return _shapes_in(weights) + ([] if elsewhere is None else elsewhere.shapes())


def _shapes_in(path: Path) -> list[tuple[int, ...]]:
    """The shapes in a safetensors file; none of one that is damaged, which is told where it is read."""
    try:
        with safe_open(path, framework="pt") as file:
            return [tuple(file.get_slice(name).get_shape()) for name in list(file.keys())]
    except (SafetensorError, OSError):
        return []


def expect_same_base(given: str, noted: dict[str, Any], run: Path) -> None:
    """The base of a run that goes on must be there, with the weights that it had."""
    as_given = Path(os.path.expanduser(given))
    folder = as_given if given and as_given.is_dir() else find_base(noted, run)
    way_on = f"say where it is now: `cutaway tune BASE --resume --out {run}`"
    if folder is None:
        raise ValueError(f"a tuned run goes on with its base, got none at {given}; bring it back, or {way_on}")
    digest = digest_of(folder)
    if digest != noted["digest"]:
        raise ValueError(
            f"a tuned run goes on with the base that it began with, got {folder} with digest {digest[:12]} where the "
            f"run has {str(noted['digest'])[:12]}; bring the old one back, {way_on}, or start a new run"
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run."""
    from cutaway.hub.checkpoint_files import read_json

    config = folder / "config.json"
    return config.is_file() and "recipe" in read_json(config)


def _of_run(source: str, folder: Path) -> Base:
    from cutaway.data.text.tokenizers import load_tokenizer

    about = read_config(folder)
    recipe = find_recipe(about["recipe"])(**about["config"])
    weights = _weights_of(folder, source)
    if weights.parent != folder:
        warnings.warn(f"{source} is not finished: its newest checkpoint is tuned", stacklevel=2)
    model = read_trained(recipe, about, weights)
    tokenizer = expect_file(folder, about, "tokenizer.json")
    found = None if tokenizer is None else load_tokenizer(tokenizer)
    kept = without_updates(model)
    model = model.float()
    model.tokenizer = found
    finished = weights.parent == folder
    return _expect_tunable(Base(source, folder, model, found, digest_file(weights), about, kept, finished))


def _weights_of(folder: Path, source: str) -> Path:
    """The file of a run's weights, or that of its newest checkpoint."""
    if (folder / "model.safetensors").exists():
        return folder / "model.safetensors"
    checkpoint = latest_checkpoint(folder)
    if checkpoint is None:
        raise ValueError(f"a run needs weights to be tuned, got {source} without any; train it first")
    return newest_weights(checkpoint)


def _expect_tunable(base: Base) -> Base:
    if not base.tasks:
        kind = base.about.get("recipe", type(base.model).__name__)
        raise ValueError(
            f"a base must be a model that can be tuned (BERT, GPT, ViT, CNN and the like), got {base.path}, a "
            f"{type(base.model).__name__} of {kind!r}; train that model on your data instead"
        )
    return base


__all__ = [
    "Base",
    "digest_of",
    "expect_base",
    "expect_same_base",
    "find_base",
    "is_run",
    "open_base",
    "place_beside",
    "read_base_shapes",
    "read_base_weights",
    "told_tasks",
]
