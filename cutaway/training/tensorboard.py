r"""A callback that writes a TensorBoard log of a run."""

from typing import TYPE_CHECKING, Any

from cutaway.overriding import override
from cutaway.training.callbacks import Callback

if TYPE_CHECKING:
    from cutaway.training.loop import Loop


class Board(Callback):
    """Curves and samples in the run's folder `tensorboard/`; look at them with `tensorboard --logdir runs`."""

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # a plain ImportError if tensorboard is there but too old for torch
            raise ModuleNotFoundError(
                "a TensorBoard log needs the package tensorboard, which is not installed; run pip install tensorboard",
                name="tensorboard",
            ) from None
        self._kind: Any = SummaryWriter
        self._writer: Any = None

    def _open(self, loop: "Loop") -> Any:
        if self._writer is None:
            if loop.folder is None:
                raise ValueError("a TensorBoard log needs a run folder, got none; give the loop a folder")
            # purge_step: what was logged after the checkpoint that a run goes on from is hidden
            self._writer = self._kind(str(loop.folder.path / "tensorboard"), purge_step=loop.step)
        return self._writer

    @override
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        if loop.step % loop.plan.log_every == 0:
            self._add(loop, "train", metrics)

    @override
    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        self._add(loop, "validation", metrics)
        for name, text in loop.samples.items():
            self._open(loop).add_text(name, f"```\n{text}\n```", loop.step)

    def _add(self, loop: "Loop", split: str, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self._open(loop).add_scalar(f"{split}/{name}", value, loop.step)

    @override
    def checkpoint(self, loop: "Loop") -> None:
        self._open(loop).flush()

    @override
    def end(self, loop: "Loop") -> None:
        if self._writer is not None:
            self._writer.close()
