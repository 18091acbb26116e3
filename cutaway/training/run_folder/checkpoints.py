r"""Checkpoints: a directory with all that a run needs to resume exactly where it was, written whole or not at all.

    state/step-200/   weights.safetensors   optimizer.safetensors   random.safetensors   state.json   checksums.json   …
                      metrics.json          size and checksum that metrics.jsonl had then
    state/latest      names the newest whole one
    state/frozen.safetensors    in tuned runs made before their base was left out: weights that no step changes

If the newest was damaged since, the one before it is used. No pickle: tensors are safetensors, the rest is JSON.
"""

import errno
import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor
from torch.optim import Optimizer

from cutaway.atomic_files import make_folder, write_text, writing_folder
from cutaway.checksums import FILE as CHECKSUMS
from cutaway.checksums import find_damage, write_checksums
from cutaway.training.run_folder.weights import (
    checksum_of,
    find_weights_damage,
    read_tensors,
    write_plain,
)

FORMAT = 1
STATE = "state"
FROZEN = "frozen.safetensors"
LOGGED = "metrics.json"
FILES = ("weights", "optimizer", "random")  # without which no run goes on
FIELDS: dict[str, Any] = {  # of state.json
    "step": int,
    "batches": int,
    "seconds": (int, float),
    "metrics_bytes": int,
    "sums": dict,
    "why_stopped": str,
    "optimizers": list,
    "callbacks": dict,
}


class FolderError(OSError):
    """A run's folder could not be written to. What was there before is intact."""


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turns a failure to write into an error that says what is still intact and what to do."""
    if not folder.is_dir():  # never half of it again
        raise FolderError(
            f"a run's folder must stay where it is, but {folder} is gone; if it was moved, --resume it where it is now"
        )
    try:
        yield
    except (OSError, SafetensorError) as error:
        if isinstance(error, FolderError):
            raise
        pointer = folder / "state" / "latest"
        last = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else None
        left = f"the last good checkpoint is {last}" if last else "there is no checkpoint yet"
        number = getattr(error, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT) or "os error 28" in str(error) or "os error 122" in str(error):
            why = f"a run needs room on its disk, got none left for {folder}; {left}: make room, then --resume"
        else:
            why = f"a run must be able to write to its folder, got {error}; {left}: mend it, then --resume"
        raise FolderError(why) from error


def optimizer_tensors(optimizers: list[Optimizer]) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """The state of optimizers as named tensors, and the rest of it as plain values."""
    tensors: dict[str, Tensor] = {}
    plain = []
    for i, optimizer in enumerate(optimizers):
        state = optimizer.state_dict()
        numbers: dict[str, dict[str, Any]] = {}
        for p, values in state["state"].items():
            for name, value in values.items():
                if isinstance(value, Tensor):
                    tensors[f"{i}.{p}.{name}"] = value
                else:
                    numbers.setdefault(str(p), {})[name] = value
        plain.append({"groups": state["param_groups"], "numbers": numbers})
    return tensors, plain


def restore_optimizers(
    optimizers: list[Optimizer],
    tensors: dict[str, Tensor],
    plain: list[dict[str, Any]],
    share: Callable[[Tensor, Tensor], Tensor] = lambda tensor, parameter: tensor,
) -> None:
    """Puts back what `optimizer_tensors` took; ``share`` is what this process keeps of a parameter's state."""
    for i, (optimizer, part) in enumerate(zip(optimizers, plain, strict=True)):
        state: dict[int, dict[str, Any]] = {int(p): dict(values) for p, values in part["numbers"].items()}
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for key, tensor in tensors.items():
            which, p, name = key.split(".", 2)
            if int(which) == i:
                state.setdefault(int(p), {})[name] = share(tensor, parameters[int(p)])
        # JSON has lists where torch wants tuples (betas); "params" is a list in both
        groups = [
            {k: tuple(v) if isinstance(v, list) and k != "params" else v for k, v in group.items()}
            for group in part["groups"]
        ]
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def save_checkpoint(
    folder: Path,
    step: int,
    tensors: dict[str, dict[str, Tensor]],
    state: dict[str, Any],
    keep: int,
    logged: dict[str, Any] | None = None,
) -> Path:
    """Writes state/step-N whole, points `latest` at it, then removes all but the newest ``keep``.

    ``tensors`` has one dict for each file; ``state`` is what JSON can hold; ``logged`` are the size and the checksum of
    metrics.jsonl as it was then.
    """
    root = folder / STATE
    with writing_to(folder):
        make_folder(root, parents=False)  # of a run whose folder was moved meanwhile, nothing comes back
        with writing_folder(root / f"step-{step}", parents=False) as part:
            for name, named in tensors.items():
                write_plain(part / f"{name}.safetensors", named)
            whole = {"format": FORMAT, "step": step, **state}
            (part / "state.json").write_text(json.dumps(whole), encoding="utf-8")
            if logged is not None:
                (part / LOGGED).write_text(json.dumps(logged), encoding="utf-8")
            write_checksums(part)
        write_text(root / "latest", f"step-{step}\n", parents=False)
    for old in checkpoint_steps(folder)[:-keep]:
        shutil.rmtree(root / f"step-{old}", ignore_errors=True)
    return root / f"step-{step}"


def read_frozen(checkpoint: Path) -> dict[str, Tensor]:
    """The weights that a checkpoint shares with the others of its run; {} if it holds all itself."""
    return read_tensors(checkpoint.parent / FROZEN) if read_state(checkpoint).get("frozen") else {}


def read_weights(path: Path) -> dict[str, Tensor]:
    """All weights of a run's own file, or of one of a checkpoint, with those that it shares with the others."""
    tensors = read_tensors(path)
    return (read_frozen(path.parent) | tensors) if _is_in_checkpoint(path) else tensors


def run_of_weights(path: Path) -> Path:
    """The run folder that a file of weights belongs to: its own weights, or those of a checkpoint.

    >>> str(run_of_weights(Path("runs/a/model.safetensors")))
    'runs/a'
    """
    return path.parents[2] if _is_in_checkpoint(path) else path.parent


def _is_in_checkpoint(path: Path) -> bool:
    return path.parent.parent.name == STATE and (path.parent / "state.json").is_file()


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps that have a directory, in order."""
    names = [path.name for path in (folder / "state").glob("step-*")]
    return sorted(int(name[5:]) for name in names if re.fullmatch(r"step-\d+", name))


def latest_checkpoint(folder: Path, warn: bool = True) -> Path | None:
    """The newest sound checkpoint; None before the first. Damaged ones are passed over, with a warning.

    Those after the one that `latest` names do not count: a killed process had not yet said that they are there.
    """
    pointer, steps = folder / STATE / "latest", checkpoint_steps(folder)
    if not (steps or pointer.is_file()):
        return None
    named = re.fullmatch(r"step-(\d{1,18})\s*", pointer.read_text(errors="replace")) if pointer.is_file() else None
    if named is not None:
        steps = [step for step in steps if step <= int(named[1])] or steps
    damages: list[str] = []
    for step in reversed(steps):
        path = folder / "state" / f"step-{step}"
        damage = find_checkpoint_damage(path)
        if not damage:
            if damages and warn:
                warnings.warn(f"{'; '.join(damages)}: step {step} is used in its place", stacklevel=3)
            return path
        damages.append(f"the checkpoint {path} is damaged ({damage})")
    raise ValueError(
        f"a run needs a sound checkpoint to go on from, got {'; '.join(damages) or f'none in {folder / STATE}'}; "
        f"take one from a copy, or delete the folder {folder / STATE} to start over"
    )


def find_checkpoint_damage(checkpoint: Path) -> str:
    """What is missing or damaged in a checkpoint; empty if a run can go on from it."""
    # Those made before there were checksums have none.
    if (checkpoint / CHECKSUMS).exists() and (damage := find_damage(checkpoint)):
        return damage
    for name in FILES:
        path = checkpoint / f"{name}.safetensors"
        if not path.is_file():
            return f"{path.name} is missing"
        if damage := find_weights_damage(path):
            return f"{path.name}: {damage}"
    try:
        state = read_state(checkpoint)
    except FileNotFoundError:
        return "state.json is missing"
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return "state.json does not read"
    missing = [name for name, kind in FIELDS.items() if not isinstance(state.get(name), kind)]
    if missing:
        return f"state.json has no usable {missing[0]!r}"
    if checkpoint.name != f"step-{state['step']}":
        return f"state.json says step {state['step']}"
    return _find_frozen_damage(checkpoint.parent / FROZEN, state["frozen"]) if state.get("frozen") else ""


def _find_frozen_damage(path: Path, checksum: str) -> str:
    if not path.is_file():
        return f"{path.name} beside it is missing"
    if damage := find_weights_damage(path):
        return f"{path.name} beside it: {damage}"
    return "" if checksum_of(path) == checksum else f"{path.name} beside it is of another run"


def forget_later(folder: Path, step: int) -> None:
    """Removes checkpoints of later steps than ``step``: whole, but never made the latest."""
    for later in checkpoint_steps(folder):
        if later > step:
            shutil.rmtree(folder / "state" / f"step-{later}")


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The plain values of a checkpoint, its state.json."""
    path = checkpoint / "state.json"
    if not path.is_file():  # a pipe in its place would never end
        raise FileNotFoundError(path)
    state = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(state, dict) or not isinstance(state.get("format", 0), int):
        return {}
    if state.get("format", 0) > FORMAT:
        raise ValueError(f"this Cutaway reads checkpoints of format {FORMAT}, got {state['format']}; upgrade cutaway")
    return state


def read_logged(checkpoint: Path) -> dict[str, Any] | None:
    """Size and checksum of metrics.jsonl when a checkpoint was made; None if it says none."""
    path = checkpoint / LOGGED
    try:
        logged = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):  # made before there were such, removed meanwhile, or damaged
        return None
    sound = isinstance(logged, dict) and isinstance(logged.get("bytes"), int) and isinstance(logged.get("crc32"), str)
    return logged if sound else None


def named_checkpoint(folder: Path) -> Path | None:
    """The checkpoint that `latest` names, whether or not it is sound; None if it names none that is there."""
    pointer = folder / STATE / "latest"
    named = re.fullmatch(r"step-\d+\s*", pointer.read_text(errors="replace")) if pointer.is_file() else None
    path = folder / STATE / named[0].strip() if named else None
    return path if path is not None and path.is_dir() else None


def newest_weights(checkpoint: Path) -> Path:
    """The weights of the checkpoint's own step: their average where one is kept, else as training left them.

    Not the best so far: before the first evaluation after step 0 those are the weights that nothing has trained.
    """
    average = checkpoint / "callback-Averaging.safetensors"
    return average if average.is_file() else checkpoint / "weights.safetensors"
