r"""What the training loop needs of its processes, for one process; `many.py` does the same for several.

    torchrun --nproc-per-node 2 -m cutaway train gpt

`Alone` is for a single process: nothing is shared, and its methods return what they are given.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from cutaway.training.devices import find_device

if TYPE_CHECKING:
    from cutaway.training.jobs import Job
    from cutaway.training.run_folder.interrupts import StopSignals

B = TypeVar("B")
T = TypeVar("T")
STRATEGIES = ("auto", "ddp", "fsdp")
_NOTHING: AbstractContextManager[None] = nullcontext()


def world() -> int:
    """How many processes torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the process that writes and prints."""
    return world() == 1 or os.environ.get("RANK", "0") == "0"


class Alone:
    """A single process, which has nothing to share, agree upon or wait for."""

    rank, world, strategy = 0, 1, "alone"
    is_first = True
    called: nn.Module | None = None  # what objectives call in training, once it is prepared

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = torch.device("cpu") if device is None else device

    # Before and after training

    def local_first(self) -> AbstractContextManager[Any]:
        """Around work that fills caches: the first process on each machine goes ahead, the others follow."""
        return _NOTHING

    def first(self, make: Callable[[], T]) -> T:
        """What ``make`` returns or raises in the first process, in all of them."""
        return make()

    def expect_same(self, digest: str | None) -> None:
        """All processes must have read the same data."""

    def prepare(self, job: "Job") -> None:
        """Prepares a job's model. Its parameters may be replaced, so optimizers are built afterwards."""
        job.model.to(self.device)

    # In every step

    def batches_of_step(self, batches: Iterable[B]) -> Iterator[B]:
        """The batches of one step; gradients are averaged over processes with the last of them."""
        return iter(batches)

    def mean(self, number: float) -> float:
        """The mean of a number over processes: not finite if one of them is not."""
        return number

    def norm(self, gradients: list[Tensor]) -> Tensor:
        """The length of the whole gradient."""
        return nn.utils.get_total_norm(gradients, foreach=True)

    def agree_to_stop(self, why: str, signals: "StopSignals") -> str:
        """Why to stop after this step, if one of the processes has a reason."""
        return why

    def stop_signal(self, signals: "StopSignals") -> int | None:
        """The signal to stop that came to one of the processes."""
        return signals.received

    # Now and then

    def unsharded(self, model: nn.Module) -> AbstractContextManager[Any]:
        """A context in which a model can be used in other ways than by its forward pass."""
        return _NOTHING

    def from_first(self, value: T) -> T:
        """The first process's value, returned in all processes."""
        return value

    def gather(self, value: T) -> list[T]:
        """The values of all processes, returned in each."""
        return [value]

    def wait(self) -> None:
        """Waits until all processes are here."""

    def whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Tensors put together from the processes that hold shares of them; for the first process to write."""
        return tensors

    def share(self, tensor: Tensor, like: Tensor) -> Tensor:
        """This process's share of a whole tensor, by the example of another."""
        return tensor

    def all_random_states(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """The states of the random numbers of all processes, for a checkpoint."""
        return states

    def own_random_states(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """This process's own states among these; none if it did not exist when they were saved."""
        return states


def find_processes(strategy: str = "auto", device: str = "auto") -> Alone:
    """The processes of this run: those that torchrun started, or this one alone."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}; leave it at auto")
    if world() == 1:
        if strategy != "auto":
            raise ValueError(
                f"strategy is for several processes, got {strategy!r} with one; start it with "
                "torchrun --nproc-per-node 2 -m cutaway train …"
            )
        return Alone(find_device(device))
    from cutaway.training.processes.many import Many

    return Many("ddp" if strategy == "auto" else strategy, device)


def reports_errors() -> bool:
    """Whether this process should print an error: of several that fail, only the first does."""
    if world() == 1:
        return True
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import _get_default_store

    if not dist.is_initialized():  # before the processes are connected, all meet the same error
        return is_first()
    try:
        return _get_default_store().add("cutaway/reported", 1) == 1
    except (RuntimeError, OSError):  # the process that held the store has ended, after its report
        return False


@contextmanager
def explain_lost_process() -> Iterator[None]:
    """Turns the network's error about a lost process into a sentence that says so."""
    try:
        yield
    except RuntimeError as error:
        if world() == 1 or not _is_lost(error):
            raise
        raise ConnectionError(
            f"the processes of a run need one another, and process {os.environ.get('RANK')} lost one "
            f"({str(error).strip().splitlines()[0]}); what it said tells why: mend that, then --resume"
        ) from error


def _is_lost(error: RuntimeError) -> bool:
    import torch.distributed as dist

    return isinstance(error, dist.DistError) or "gloo" in str(error)
