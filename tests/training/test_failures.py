"""When numbers break: the block and the batch are named. When memory runs out: what to lower is."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from little import Points, little_job, little_loop, squared
from torch import Tensor, nn

from cutaway.training.callbacks import Averaging, Callback
from cutaway.training.failures import DivergenceError, broken_parameter, first_broken, watching_memory
from cutaway.training.run_folder.checkpoints import latest_checkpoint
from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.run_folder.weights import read_tensors


class Overflows(nn.Module):
    """exp, which is infinite from 89 on in float32."""

    def forward(self, x: Tensor) -> Tensor:
        return x.exp()


class RootOfZero(nn.Module):
    """√(x²) = |x|, whose gradient by the chain rule is 0/0 at 0."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * x).sqrt()


class Deep(nn.Module):
    """Three named blocks, of which the middle one may break."""

    def __init__(self, middle: nn.Module) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Dropout(0.5), middle)])
        self.last = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.blocks[0](self.first(x)))


class Rising(Points):
    """Points that become enormous at batch 5."""

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        x, y = super().at(step)
        return (x * 1e4 if step >= 5 else x), y


def fail(folder: RunFolder | None, model: nn.Module, callbacks: Any = (), **more: Any) -> str:
    plan = {k: more.pop(k) for k in ("accumulate", "clip", "evaluate_every", "checkpoint_every") if k in more}
    job = little_job(model, **{"batches": Rising(), "evaluate": lambda m: {"loss": 1.0}} | more)
    with pytest.raises(DivergenceError) as error:
        little_loop(folder, callbacks, job, **plan).run()
    return str(error.value)


def test_the_first_block_that_breaks_is_named_and_the_batch_kept(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    told = fail(folder, Deep(Overflows()))
    assert "training needs finite numbers, but at step 5 the loss is inf, first broken by blocks.0.1;" in told
    assert f"its batch is in {folder.path / 'failed' / 'step-5'}" in told
    assert told.endswith(
        "lower the rate, clip the gradient or look at the data (the last checkpoint, of step 3, is sound)"
    )
    batch = read_tensors(folder.path / "failed" / "step-5" / "batch-0.safetensors")
    assert torch.equal(batch["0"], Rising().at(5)[0])
    assert torch.equal(batch["1"], Rising().at(5)[1])


def test_the_last_checkpoint_is_intact(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    fail(folder, Deep(Overflows()))
    latest = latest_checkpoint(folder.path)
    assert latest is not None
    assert latest.name == "step-3"
    assert all(x.isfinite().all() for x in read_tensors(latest / "weights.safetensors").values())


def test_the_dropout_of_the_step_is_drawn_again():
    """Which values are dropped decides which block breaks: the search must drop the same ones."""

    class Picky(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            dropped = nn.functional.dropout(torch.ones(8, 1), 0.5)
            seen.append(dropped)
            return x + torch.where(dropped[0] > 0, math.inf, 0.0)

    seen: list[Tensor] = []
    told = fail(None, Deep(Picky()), batches=Points())
    assert "first broken by blocks.0.1;" in told
    assert torch.equal(seen[-1], seen[-2])


def test_all_batches_of_an_accumulated_step_are_kept(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    told = fail(folder, Deep(Overflows()), accumulate=3)
    assert "at step 1 the loss is inf, first broken by blocks.0.1" in told  # step 1 takes batches 3, 4 and 5
    for i, number in enumerate((3, 4, 5)):
        kept = read_tensors(folder.path / "failed" / "step-1" / f"batch-{i}.safetensors")
        assert torch.equal(kept["0"], Rising().at(number)[0])


@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_a_gradient_alone_may_break(clip: float):
    class Zeros(Points):
        def at(self, step: int) -> tuple[Tensor, Tensor]:
            x, y = super().at(step)
            return (torch.zeros_like(x) if step >= 2 else x), y

    model = Deep(RootOfZero())
    model.first = nn.Linear(3, 3, bias=False)  # so that zeros stay zeros, and no others come up
    model.blocks[0][0] = nn.Identity()
    told = fail(None, model, batches=Zeros(), clip=clip)
    assert "at step 2 the length of the gradient is nan, first broken by the gradient in blocks.0.1;" in told


def test_an_objective_may_break():
    told = fail(None, Deep(nn.Identity()), objective=lambda m, b: squared(m, b) * (math.nan if b[0].max() > 100 else 1))
    assert "first broken by the objective;" in told
    told = fail(None, Deep(nn.Identity()), objective=lambda m, b: (squared(m, b) * 0.0).sqrt())
    assert "at step 0 the length of the gradient is nan, first broken by the gradient of the objective;" in told


def test_a_step_that_breaks_a_weight_is_never_checkpointed(tmp_path: Path):
    class Breaks(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            if loop.step == 6:
                loop.model.last.weight.data[0, 0] = math.inf

    folder = RunFolder.create(tmp_path / "run")
    told = fail(folder, Deep(nn.Identity()), [Breaks()], batches=Points(), evaluate_every=100)
    assert "at step 6 the weights are not finite, first broken by the parameter last.weight itself;" in told
    assert latest_checkpoint(folder.path) == folder.path / "state" / "step-3"


def test_a_validation_that_breaks_ends_the_run():
    told = fail(
        None, Deep(Overflows()), batches=Points(), evaluate=lambda m: {"loss": squared(m, Rising().at(9)).item()}
    )
    assert "at step 0 the validation loss is inf, first broken by blocks.0.1;" in told


def test_an_average_that_breaks_is_searched_itself():
    averaging = Averaging(0.9)

    class Breaks(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            averaging.average.last.weight.data.fill_(math.nan)

    scored = lambda m: {"loss": squared(m, Points().at(9)).item()}
    told = fail(None, Deep(nn.Identity()), [averaging, Breaks()], batches=Points(), evaluate=scored)
    assert "the validation loss is nan, first broken by last;" in told


def test_what_does_not_happen_again_is_said_so():
    calls: list[int] = []
    told = fail(
        None,
        Deep(nn.Identity()),
        batches=Points(),
        objective=lambda m, b: squared(m, b) * (math.nan if not calls and calls.append(1) is None else 1.0),
    )
    assert "first broken by something that did not happen again;" in told


@pytest.mark.untyped
def test_a_compiled_model_is_searched_eagerly():
    model = Deep(Overflows())
    model.compile(backend="eager")
    assert "first broken by blocks.0.1;" in fail(None, model)


def test_parameters_and_blocks_by_themselves():
    model = Deep(nn.Identity())
    x = torch.ones(2, 3)
    assert broken_parameter(model) == ""
    assert first_broken(model, lambda: model(x).sum()) == ""
    model.first.bias.data[1] = math.nan
    assert broken_parameter(model) == "the parameter first.bias itself"
    assert first_broken(model, lambda: model(x).sum()) == "first"
    assert not any(module._forward_hooks for module in model.modules())


def raise_in_watch(error: Exception) -> None:
    with watching_memory("lower batch=32"):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."),
        MemoryError("Unable to allocate 8 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: 8 bytes"),
    ],
)
def test_when_memory_runs_out_what_to_lower_is_said(error: Exception):
    with pytest.raises(MemoryError, match=r"must fit into memory, and this one does not .*; lower batch=32"):
        raise_in_watch(error)


def test_memory_that_really_cannot_be_had():
    with pytest.raises(MemoryError, match=r"can't allocate memory.*; lower width"), watching_memory("lower width"):
        torch.empty(1 << 60, dtype=torch.uint8)


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="shapes"):
        raise_in_watch(RuntimeError("shapes do not fit"))


def test_a_memory_error_without_words_is_told():
    told = "must fit into memory, and this one does not; lower batch=8"
    with pytest.raises(MemoryError, match=told), watching_memory("lower batch=8"):
        raise MemoryError
