r"""A log of the gradient flow during training, measured every so many steps and written to the run's flow.jsonl.

    ‖Δw‖ / ‖w‖          how far a step moves the weights of a layer, as a share of their length

Measuring does not change the step by a bit. On the steps between, the model has no hooks.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.atomic_files import write_bytes
from cutaway.overriding import override
from cutaway.training.callbacks import Callback
from cutaway.training.run_folder.checkpoints import writing_to
from cutaway.training.run_folder.folder import expect_final, json_line, read_lines

if TYPE_CHECKING:
    from cutaway.look.flows import flow
    from cutaway.training.loop import Loop

FILE = "flow.jsonl"
_KEPT = ("kind", "mean", "std", "activation", "delta", "gradient", "weight", "dead", "saturated", "saturated_at")


class FlowCallback(Callback):
    """Measures the gradient flow in the first step and every ``every`` steps, by `cut.flow`.

    It writes a line for each layer, with the step, the layer's address, its norms, its shares of dead units and
    saturated values, and ``update``, the ratio ‖Δw‖ / ‖w‖; gradients are those before clipping. ``addresses`` choose
    the layers, ``saturated_at`` is that of `cut.flow`. Without a run folder, ``rows`` holds the lines. Of many
    processes the first measures, on its share of the batch. A compiled model runs eagerly in the steps that are
    measured.
    """

    def __init__(
        self,
        every: int = 100,
        addresses: str | Iterable[str] | None = None,
        saturated_at: float | Mapping[str, float] | None = None,
    ) -> None:
        if every < 1:
            raise ValueError(f"every must be above 0, got {every}; try every=100")
        self.every, self.addresses, self.saturated_at = every, addresses, saturated_at
        self.rows: list[dict[str, Any]] = []
        self._layers: flow | None = None  # never opened: it knows where to look
        self._flow: flow | None = None  # open
        self._before: dict[Tensor, Tensor] = {}  # weights as they were before the step
        self._file: int | None = None

    @override
    def start(self, loop: "Loop") -> None:
        if sum(isinstance(callback, FlowCallback) for callback in loop.callbacks.values()) > 1:
            raise ValueError("a run keeps one flow, got two FlowCallbacks; leave one out, or use --flow-every 0")
        if loop.processes.strategy == "fsdp":
            raise ValueError(
                f"a flow needs whole weights, got every={self.every} with strategy=fsdp, which leaves a share of each "
                "to every process; use --flow-every 0, or --strategy ddp"
            )
        if loop.folder is not None and loop.processes.is_first:
            path = loop.folder.path / FILE
            with writing_to(loop.folder.path):
                _forget_later(path, loop.step)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
                self._file = os.open(path, flags, 0o644)

    @override
    def before(self, loop: "Loop") -> None:
        step = loop.step + 1
        if not loop.processes.is_first or (step > 1 and step % self.every):
            return
        if self._layers is None:
            from cutaway.look.flows import flow

            self._layers = flow(loop.model, self.addresses, as_is=True, saturated_at=self.saturated_at)
        self._flow = self._layers.anew()
        weights = (w for place in self._flow.places.values() for w in place.weights if w.requires_grad)
        self._before = {w: w.detach().clone() for w in weights}
        self._flow.open()

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        if self._flow is None:
            return
        self._flow.close()
        moved = self._moved()
        rows = []
        owners = {place.address: place.weights for place in self._flow.places.values()}
        for layer in self._flow.seen.layers:
            row = layer.to_dict()
            squares = [moved[w] ** 2 for w in owners[layer.address] if w in moved]
            update = sum(squares) ** 0.5 / layer.weight if squares and layer.weight else None
            values = {k: row[k] for k in _KEPT} | {"update": update}
            rows.append({"step": loop.step, "layer": layer.address} | {k: _short(v) for k, v in values.items()})
        self._flow, self._before = None, {}
        if self._file is None:
            self.rows += rows
        else:
            assert loop.folder is not None
            self._write(rows, loop.folder.path)

    def _moved(self) -> dict[Tensor, float]:
        """‖Δw‖ of every weight."""
        if not self._before:
            return {}
        with torch.no_grad():
            lengths = [torch.linalg.vector_norm(w.detach() - old) for w, old in self._before.items()]
            return dict(zip(self._before, torch.stack([x.to(lengths[0]) for x in lengths]).tolist()))

    def _write(self, rows: list[dict[str, Any]], folder: Path) -> None:
        assert self._file is not None
        left = "".join(f"{json_line(row)}\n" for row in rows).encode()
        with writing_to(folder):
            while left:  # a full disk takes a part first
                left = left[os.write(self._file, left) :]

    @override
    def state(self) -> dict[str, Any]:
        """Returns nothing to save. It is called before a checkpoint, so it puts what was logged so far on disk."""
        if self._file is not None:
            os.fsync(self._file)
        return {}

    @override
    def end(self, loop: "Loop") -> None:
        if self._flow is not None:  # the step failed
            self._flow.close()
            self._flow, self._before = None, {}
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_flow(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The lines of a run's flow.jsonl, none if it has no such file; a last one cut short by a crash is left out."""
    rows = read_lines(Path(folder) / FILE)
    expect_final(Path(folder), FILE)
    return rows


def _short(value: Any) -> Any:
    """A number rounded to six digits, to keep the file small."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _forget_later(path: Path, step: int) -> None:
    """Removes the lines after a checkpoint's step, or of an earlier run in the folder that made no checkpoint."""
    if not path.is_file():
        return
    whole = path.read_bytes()
    lines = zip(whole.split(b"\n"), read_lines(path))
    kept = b"".join(line + b"\n" for line, row in lines if row.get("step", 0) <= step)
    if kept != whole:
        write_bytes(path, kept, parents=False)
