r"""Many processes that train one model: each takes its share of every batch, and all take the same step.

    g = mean over processes r of ∇ objective(model, share r of the batch)

With shares of equal size that is the gradient of the whole batch, so N processes take the steps that one would.

    ddp     every process has the whole model (Li et al. 2020)
    fsdp    each has a share of every tensor; a layer is put together when its turn comes (Zhao et al. 2023)

lightning-fabric does both: PyTorch's DistributedDataParallel and fully_shard.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from cutaway.overriding import override
from cutaway.training.devices import find_device
from cutaway.training.jobs import Job
from cutaway.training.processes.alone import _NOTHING, Alone
from cutaway.training.run_folder.interrupts import StopSignals

B = TypeVar("B")
T = TypeVar("T")


class Many(Alone):
    """One of several processes. Every method is called by all of them, in the same order."""

    def __init__(self, strategy: str, device: str) -> None:
        from cutaway.extras import need

        need("lightning_fabric", "distributed", "training by several processes")
        for name in ("lightning_fabric", "lightning_utilities"):
            logging.getLogger(name).setLevel(logging.WARNING)  # hides its messages about each start
        self.strategy = strategy
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.is_first = self.rank == 0
        self._kind = _kind(device)
        self._fabric = _launched(strategy, self._kind)
        self.device: torch.device = self._fabric.device
        self._signal: int | None = None

    @override
    @contextmanager
    def local_first(self) -> Iterator[None]:
        goes_ahead = os.environ.get("LOCAL_RANK", "0") == "0"
        if not goes_ahead:
            self.wait()
        try:
            yield
        finally:
            if goes_ahead:
                self.wait()

    @override
    def first(self, make: Callable[[], T]) -> T:
        value: T | None = None
        error: Exception | None = None
        if self.is_first:
            try:
                value = make()
            except Exception as raised:
                error = raised
        value, error = self.from_first((value, error))
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    @override
    def expect_same(self, digest: str | None) -> None:
        digests = self.gather(digest)
        if len(set(digests)) > 1:
            listed = ", ".join(f"{own or 'none':.12} in process {rank}" for rank, own in enumerate(digests))
            raise ValueError(
                f"all processes must read the same data, got digests {listed}; copy one file to every machine"
            )

    @override
    def prepare(self, job: Job) -> None:
        job.model.to(self.device)
        if self.strategy == "ddp" and any(self.gather(leaves_some_unused(job))):
            self._fabric = _launched("ddp", self._kind, find_unused_parameters=True)
        self.called = self._fabric.setup_module(job.model)

    # In every step

    @override
    def batches_of_step(self, batches: Iterable[B]) -> Iterator[B]:
        waiting = None
        for batch in batches:
            if waiting is not None:
                with self._fabric.no_backward_sync(self.called):
                    yield waiting[0]
            waiting = (batch,)
        if waiting is not None:
            yield waiting[0]

    @override
    def mean(self, number: float) -> float:
        total = torch.tensor(number, dtype=torch.float64 if self.device.type == "cpu" else None, device=self.device)
        dist.all_reduce(total)
        return total.item() / self.world

    @override
    def norm(self, gradients: list[Tensor]) -> Tensor:
        return _put_together(super().norm(gradients))

    @override
    def agree_to_stop(self, why: str, signals: StopSignals) -> str:
        wishes = torch.tensor([bool(why), signals.received or 0], device=self.device)
        dist.all_reduce(wishes, dist.ReduceOp.MAX)
        stop, signal = wishes.tolist()
        self._signal = signal or None
        return next(filter(None, self.gather(why))) if stop else ""

    @override
    def stop_signal(self, signals: StopSignals) -> int | None:
        return self._signal

    # Now and then

    @contextmanager
    def _gathered_outside(self, model: Any) -> Iterator[None]:
        """Gathers the parameters outside the layers (embeddings); layers gather theirs in their own forward passes."""
        model.unshard()
        try:
            yield
        finally:
            model.reshard()

    @override
    def unsharded(self, model: nn.Module) -> AbstractContextManager[Any]:
        return self._gathered_outside(model) if self.strategy == "fsdp" else _NOTHING

    @override
    def from_first(self, value: T) -> T:
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    @override
    def wait(self) -> None:
        self._fabric.barrier()

    @override
    def gather(self, value: T) -> list[T]:
        values: list[Any] = [None] * self.world
        dist.all_gather_object(values, value)
        return values

    @override
    def whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        found = {}
        for name, tensor in tensors.items():
            full = _put_together(tensor)
            if self.is_first:  # one at a time: the others keep none of them
                found[name] = full.cpu() if full is not tensor else full
        return found

    @override
    def share(self, tensor: Tensor, like: Tensor) -> Tensor:
        if (
            not isinstance(like, DTensor) or tensor.shape != like.shape
        ):  # such as a count of steps, which is not sharded
            return tensor
        whole = tensor.to(self.device)
        return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)

    @override
    def all_random_states(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        every = self.gather(states)
        others = {f"{kind}-{r}": state for r, own in enumerate(every) for kind, state in own.items() if r}
        return every[0] | others

    @override
    def own_random_states(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.is_first:
            return states
        end = f"-{self.rank}"
        return {kind.removesuffix(end): state for kind, state in states.items() if kind.endswith(end)}


def _kind(device: str) -> str:
    """The kind of device that every process takes one of."""
    found = find_device(device).type
    if device == "auto" and found not in ("cpu", "cuda"):
        found = "cpu"
    if found not in ("cpu", "cuda") or ":" in device:
        raise ValueError(
            f"several processes take a device each, of cpu or cuda, got device={device!r}; "
            "leave the number out, or leave it at auto"
        )
    here, there = int(os.environ["LOCAL_WORLD_SIZE"]), torch.accelerator.device_count()
    if found == "cuda" and here > there:
        raise ValueError(
            f"every process needs a GPU of its own, got {here} processes for {there}; "
            f"try --nproc-per-node {there}, or --device cpu"
        )
    return found


def _launched(strategy: str, kind: str, **ddp: Any) -> Any:
    """Fabric; the first makes the connection of the processes, which lasts as long as they do."""
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import TorchElasticEnvironment
    from lightning_fabric.strategies import DDPStrategy, ModelParallelStrategy

    world, here = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_WORLD_SIZE"])
    chosen: Any = DDPStrategy(**ddp)
    if strategy == "fsdp":
        chosen = ModelParallelStrategy(_shard, data_parallel_size=world, tensor_parallel_size=1)
    environment = TorchElasticEnvironment()
    fabric = Fabric(accelerator=kind, devices=here, num_nodes=world // here, strategy=chosen, plugins=[environment])
    fabric.launch()
    return fabric


def _shard(model: nn.Module, mesh: Any) -> nn.Module:
    """Shards every layer by itself, then the rest of the model."""
    from torch.distributed.fsdp import fully_shard

    layers = [layer for part in model.modules() if isinstance(part, nn.ModuleList) for layer in part]
    for layer in layers:
        fully_shard(layer, mesh=mesh["data_parallel"])
    fully_shard(model, mesh=mesh["data_parallel"])
    return model


def _put_together(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def leaves_some_unused(job: Job) -> bool:
    """Whether the objective leaves out parameters, for whose gradients DistributedDataParallel would wait forever."""
    learned = [p for p in job.model.parameters() if p.requires_grad]
    modes = [(module, module.training) for module in job.model.modules()]
    job.model.eval()  # running means stay as they are
    with torch.compiler.set_stance("force_eager"):
        cost = job.objective(job.model, job.batches.at(0))
    for module, training in modes:
        module.training = training
    return any(g is None for g in torch.autograd.grad(cost, learned, allow_unused=True))
