r"""Saves the state of a loop in a checkpoint, and restores it when a run is resumed.

    weights, optimizers, random numbers, callbacks      tensors and plain values; not the weights of a frozen base
    batches so far                                      where the data goes on: batch n follows from the seed and n
    length and checksum of metrics.jsonl                lines logged after the checkpoint are removed

All of it is read and compared with the run before any of it is used.
"""

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from cutaway.checksums import find_file_damage
from cutaway.training.run_folder.checkpoints import (
    FolderError,
    forget_later,
    latest_checkpoint,
    optimizer_tensors,
    read_frozen,
    read_logged,
    read_state,
    restore_optimizers,
    save_checkpoint,
)
from cutaway.training.run_folder.folder import read_metrics
from cutaway.training.run_folder.weights import find_misfit, read_tensors

if TYPE_CHECKING:
    from cutaway.training.loop import Loop
    from cutaway.training.run_folder.folder import RunFolder


def save_loop(loop: "Loop") -> None:
    """Writes a checkpoint of the loop between two steps."""
    assert loop.folder is not None
    tensors, plain = optimizer_tensors(loop.optimizers)
    weights = dict(loop.model.state_dict())
    files = {"weights": _without(weights, loop.job.left_out), "optimizer": tensors}
    if loop.best_weights:
        files["best"] = loop.best_weights
    for name, callback in loop.callbacks.items():
        if kept := callback.tensors():
            files[f"callback-{name}"] = kept
    files = {name: loop.processes.whole(tensors) for name, tensors in files.items()}
    files["random"] = loop.processes.all_random_states(loop.random.tensors())
    state = {
        "batches": loop.taken,
        "seconds": loop.seconds,
        "best": loop.best,
        "best_by": loop.job.better,
        "best_loss": _or_none(loop.best_loss),
        "start": None if loop.start is None else [loop.start[0], _or_none(loop.start[1])],
        "last": None if loop.last is None else [*loop.last, _or_none(loop.last_loss)],
        "why_stopped": loop.why_stopped,
        "sums": loop.sums,
        "metrics_bytes": loop.folder.flush_metrics(),
        "optimizers": plain,
        "callbacks": {name: callback.state() for name, callback in loop.callbacks.items()},
    }
    folder = loop.folder
    logged = folder.logged()

    def save() -> None:
        save_checkpoint(folder.path, loop.step, files, state, loop.plan.keep, logged)

    loop.processes.first(lambda: follow_folder(folder, loop.job.files, save))


def follow_folder(folder: "RunFolder", files: dict[str, Callable[[Path], None]], save: Callable[[], None]) -> None:
    """Saves into a run's folder, wherever it is now, also if it is moved meanwhile; FolderError says where it was."""
    lost = folder.find_again(files)
    try:
        save()
    except FolderError:
        if not folder.is_gone():
            raise
        lost = folder.find_again(files)
        save()
    if lost:
        raise FolderError(lost)


def _without(tensors: dict[str, Tensor], names: Collection[str]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if name not in names}


def restore_loop(loop: "Loop") -> dict[str, tuple[dict[str, Any], dict[str, Tensor]]]:
    """Goes back to the newest undamaged checkpoint, if there is one, and removes what was written after it.

    Returns what it kept for callbacks, by their names.
    """
    assert loop.folder is not None
    checkpoint = latest_checkpoint(loop.folder.path, warn=loop.processes.is_first)
    if checkpoint is None:
        loop.folder.cut_metrics(0)
        return {}
    files = {path.stem: read_tensors(path) for path in checkpoint.glob("*.safetensors")}
    state = read_state(checkpoint)
    share, own = loop.processes.share, loop.model.state_dict()
    of_base = {name: own[name] for name in loop.job.left_out}  # whose digest was compared when the run was opened
    for name in ("weights", "best"):
        if name in files:
            files[name] = of_base | read_frozen(checkpoint) | files[name]
    _expect_fit(loop, checkpoint, files, state)
    learned = {name: share(x, own[name]) for name, x in files["weights"].items() if name not in of_base}
    loop.model.load_state_dict(learned, strict=not of_base)
    restore_optimizers(loop.optimizers, files["optimizer"], state["optimizers"], share)
    loop.random.restore(loop.processes.own_random_states(files["random"]))
    best = files.get("best", {})
    best = {name: tensor for name, tensor in best.items() if name not in of_base}
    loop.best_weights = {name: share(tensor.to(loop.device), own[name]) for name, tensor in best.items()}
    loop.step, loop.taken, loop.seconds = state["step"], state["batches"], state["seconds"]
    _restore_best(loop, state)
    loop.why_stopped, loop.sums = state["why_stopped"], state["sums"]
    loop.folder.cut_metrics(state["metrics_bytes"])
    if loop.processes.is_first:
        forget_later(loop.folder.path, loop.step)
    return {name: (plain, files.get(f"callback-{name}", {})) for name, plain in state["callbacks"].items()}


def _restore_best(loop: "Loop", state: dict[str, Any]) -> None:
    """The best evaluation so far. Where it was chosen by another figure, its own figure is read from the log."""
    if state.get("start") is not None:
        loop.start = (state["start"][0], _or_infinite(state["start"][1]))
    if state.get("last") is not None:
        score, step, loss = state["last"]
        loop.last, loop.last_loss = (score, step), _or_infinite(loss)
    if state.get("best") is None:
        return
    score, step = state["best"]
    loss = state.get("best_loss")
    name = loop.job.better
    if state.get("best_by", "loss" if loop.job.more_is_better else name) != name:
        assert loop.folder is not None
        rows = [row for row in read_metrics(loop.folder.path) if row.get("split") == "validation" and name in row]
        known = {row["step"]: row for row in rows}
        if step not in known:  # it cannot be compared: what comes is judged anew
            loop.best_weights = {}
            return
        score, loss = known[step][name], known[step].get("loss")
        loop.start = (known[0][name], _or_infinite(known[0].get("loss"))) if 0 in known else None
    loop.best, loop.best_loss = (score, step), _or_infinite(loss)


def _or_none(loss: float) -> float | None:
    """A loss for JSON, which has no infinity."""
    return loss if math.isfinite(loss) else None


def _or_infinite(loss: float | None) -> float:
    return math.inf if loss is None else loss


def _expect_fit(loop: "Loop", checkpoint: Path, files: dict[str, dict[str, Tensor]], state: dict[str, Any]) -> None:
    """The checkpoint must be one of this run: its model, its optimizers, its log."""
    assert loop.folder is not None
    for name in ("weights", "best"):
        if name in files and (misfit := find_misfit(files[name], loop.model.state_dict())):
            raise _unfit(checkpoint, misfit)
    if state.get("best") is not None and loop.plan.final == "best" and "best" not in files:
        raise _unfit(checkpoint, "no best.safetensors")
    kept_counts = [[len(group["params"]) for group in part["groups"]] for part in state["optimizers"]]
    own_counts = [[len(group["params"]) for group in optimizer.param_groups] for optimizer in loop.optimizers]
    if kept_counts != own_counts:
        raise _unfit(checkpoint, f"optimizers of {kept_counts} parameters where the run has {own_counts}")
    if "cpu" not in files["random"] or files["random"]["cpu"].shape != loop.random.tensors()["cpu"].shape:
        raise _unfit(checkpoint, "no usable state of the random numbers")
    if state["step"] > loop.steps:
        raise _unfit(checkpoint, f"step {state['step']} of a run of {loop.steps} steps")
    length = loop.folder.metrics_length()
    if length < state["metrics_bytes"]:
        raise _other_log(checkpoint, f"{length:,} bytes of {state['metrics_bytes']:,} in {loop.folder.path}")
    logged = read_logged(checkpoint)
    if logged is not None and find_file_damage(loop.folder.path / "metrics.jsonl", logged, beginning=True):
        raise _other_log(checkpoint, f"other lines in {loop.folder.path}")


def _other_log(checkpoint: Path, what: str) -> ValueError:
    return ValueError(
        f"metrics.jsonl must hold what was logged before the checkpoint, got {what}; take it from a copy, or delete "
        f"the folder {checkpoint.parent} to start over"
    )


def _unfit(checkpoint: Path, what: str) -> ValueError:
    return ValueError(
        f"a checkpoint must fit the run that goes on from it, got {checkpoint} with {what}; take config.json and the "
        f"folder {checkpoint.parent} from one copy, or delete {checkpoint.parent} to start over"
    )
