r"""Reports of failed steps: which block made the first NaN or infinity, on which batch; and what to lower in memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from cutaway.atomic_files import writing_folder
from cutaway.inside.address_globs import named_sites
from cutaway.training.run_folder.checkpoints import checkpoint_steps, writing_to
from cutaway.training.run_folder.weights import separate

if TYPE_CHECKING:
    from cutaway.training.loop import Loop


_ENTRIES = 1 << 20  # of a tensor that are looked at together


class DivergenceError(FloatingPointError):
    """Training made a NaN or an infinity."""


class NotFinite(Exception):  # noqa: N818 -- a signal inside the loop, which becomes a DivergenceError
    """A number that training reads is not finite."""


def report_failure(loop: "Loop", what: str, batches: list[Any], run: Callable[[], Any] | None = None) -> NoReturn:
    """Stops the run with the name of the first block that made a NaN or an infinity, and keeps the step's batches.

    ``run`` does again what went wrong (default: the cost of each batch).
    """
    again = [lambda batch=batch: loop.cost(batch) for batch in batches] if run is None else [run]
    model = loop.model if run is None else loop.evaluated
    # Everything is tried, whatever was found before: another process may wait for its part in it.
    found = [broken_parameter(loop.model), *[first_broken(model, attempt) for attempt in again]]
    found = loop.processes.gather(next(filter(None, found), ""))
    culprit = next(filter(None, found), "")
    kept = left = ""
    if loop.folder is not None:
        path = loop.folder.path / "failed" / f"step-{loop.step}"
        if batches:
            if loop.processes.rank == found.index(culprit):
                _keep(path, batches, loop.folder.path)
            loop.processes.wait()
            kept = f"; its batch is in {path}"
        steps = checkpoint_steps(loop.folder.path)
        left = f" (the last checkpoint, of step {steps[-1]}, is sound)" if steps else ""
    raise DivergenceError(
        f"training needs finite numbers, but at step {loop.step} the {what}, first broken by "
        f"{culprit or 'something that did not happen again'}{kept}; lower the rate, clip the gradient or look at the "
        f"data{left}"
    ) from None


def _keep(path: Path, batches: list[Any], folder: Path) -> None:
    """One file of tensors for each batch that the step accumulated, named as in the batch."""
    with writing_to(folder), writing_folder(path) as part:
        for i, batch in enumerate(batches):
            leaves, _ = pytree.tree_flatten_with_path(batch)
            named = {pytree.keystr(where).strip(".[]'") or "batch": value for where, value in leaves}
            tensors = {name: torch.as_tensor(value) for name, value in named.items() if hasattr(value, "shape")}
            save_file(separate(tensors), part / f"batch-{i}.safetensors")


def broken_parameter(model: nn.Module) -> str:
    """The first parameter that is not finite, if there is one."""
    broken = (name for name, p in model.named_parameters() if not all_finite(p.detach()))
    return next((f"the parameter {name} itself" for name in broken), "")


def all_finite(x: Tensor) -> bool:
    """Whether no entry is NaN or infinite, some rows after others: a large matrix at once takes its memory again."""
    rows = x.split(max(1, _ENTRIES * len(x) // max(1, x.numel()))) if x.ndim and len(x) else (x,)
    return all(bool(part.isfinite().all()) for part in rows)


def first_broken(model: nn.Module, run: Callable[[], Any]) -> str:
    """Repeats a pass, forward and backward; names the first block whose output, or input's gradient, is not finite.

    Empty if everything is finite. Blocks inside a block are named before it.
    """
    found: list[str] = []

    def check(value: Tensor, name: str) -> None:
        if not found and not value.isfinite().all():
            found.append(name)

    def watch(path: str) -> Any:
        name = path or "the model"

        def hook(module: nn.Module, args: Any, output: Any) -> None:
            outputs = _floats(output)
            for x in outputs:
                check(x, name)
                if not path and x.requires_grad:
                    x.register_hook(lambda g: check(g, "the gradient of the objective"))
            for x in _floats(args):
                if x.requires_grad and not any(x is y for y in outputs):  # an identity does nothing wrong
                    x.register_hook(lambda g: check(g, f"the gradient in {name}"))

        return hook

    handles = [module.register_forward_hook(watch(path)) for path, module in named_sites(model).items()]
    try:
        with torch.compiler.set_stance("force_eager"):  # compiled code knows nothing of hooks
            cost = run()
            if isinstance(cost, Tensor):
                check(cost, "the objective")
                _check_gradients(model, cost, check)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else ""


def _check_gradients(model: nn.Module, cost: Tensor, check: Callable[[Tensor, str], None]) -> None:
    learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(cost, list(learned.values()), allow_unused=True)
    for name, g in reversed(list(zip(learned, gradients, strict=True))):  # the last are the first on the way back
        if g is not None:
            check(g, f"the gradient of {name}")


def _floats(value: Any) -> list[Tensor]:
    return [x for x in pytree.tree_leaves(value) if isinstance(x, Tensor) and x.is_floating_point()]


@contextmanager
def watching_memory(smaller: str) -> Iterator[None]:
    """Says what to lower when memory runs out, on any device."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)):
            raise
        asked = next(iter(str(error).strip().splitlines()), "").rstrip(".")  # Python's own MemoryError has no text
        why = f" ({asked})" if asked else ""
        raise MemoryError(f"a run must fit into memory, and this one does not{why}; {smaller}") from error
