"""Two processes on this machine that train together: a script for torchrun, and what starts it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

TORCHRUN = [
    *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
    *("--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"),  # a port that is free
]
ROOT = Path(__file__).parents[1]


def torchrun(*words: str, folder: Path, **more: Any) -> "subprocess.Popen[str]":
    """Two processes of ``words``, in ``folder``; a group of their own, so that they can be stopped as one."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths, "COLUMNS": "200", **more}
    return subprocess.Popen(
        [*TORCHRUN, *words], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def train_together(folder: Path, jobs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Has two processes train by ``jobs``, one after another; returns what either noted of each."""
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    process = torchrun(__file__, str(folder / "jobs.json"), folder=folder)
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, out + err
    return [json.loads((folder / f"noted-{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


def main() -> None:
    """Runs in each of the two processes."""
    from cutaway.runs import execution
    from cutaway.training.callbacks import Callback
    from cutaway.training.run_folder.interrupts import Stopped

    # The page itself takes seconds to make; what matters here is who asks for it.
    execution.report_run = lambda run: (run.path / "report.html").write_text("a report")  # type: ignore[assignment]
    rank = int(os.environ["RANK"])

    class Watch(Callback):
        """Notes the run from inside, and disturbs it in one process only."""

        def __init__(self, disturb: dict[str, Any]) -> None:
            self.disturb, self.seen = disturb, {}

        def start(self, loop: Any) -> None:
            self.seen = {"weights": loop.processes.norm([p.detach() for p in loop.model.parameters()]).item()}

        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            if loop.step == self.disturb.get("step") and rank == self.disturb["rank"]:
                if self.disturb["how"] == "signal":
                    os.kill(os.getpid(), signal.SIGTERM)
                if self.disturb["how"] == "stop":
                    loop.stop("a callback of one process said so")
                if self.disturb["how"] == "fail":
                    raise ValueError("numbers must be even, got 7; try 8")

        def end(self, loop: Any) -> None:
            state = loop.random.tensors()["cpu"]
            self.seen |= {"step": loop.step, "why": loop.why_stopped, "stream": int(state.long().sum())}

    noted: list[dict[str, Any]] = []
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        recipe: Any = job.pop("recipe", "gpt")
        if recipe in ("broken", "idle"):
            recipe = own_recipe(recipe, job)
        if isinstance(job.get("data"), list):  # one for each
            job["data"] = job["data"][rank]
        watch = Watch(job.pop("disturb", {}))
        try:
            run = execution.train(recipe, device=job.pop("device", "cpu"), show="quiet", callbacks=[watch], **job)
            watch.seen["path"] = str(run.path)
        except (ValueError, OSError, FloatingPointError) as error:
            watch.seen["error"] = f"{type(error).__name__}: {error}"
        except Stopped as stop:
            watch.seen |= {"error": str(stop), "code": stop.code}
        noted.append(watch.seen)
        Path(f"noted-{rank}.json").write_text(json.dumps(noted), encoding="utf-8")


def own_recipe(name: str, job: dict[str, Any]) -> Any:
    """A GPT whose cost is no number in the second process at step 3, or one with a parameter that nothing uses."""
    import torch

    from cutaway.recipes.texts.gpt import GPTRecipe
    from cutaway.tasks.texts.next_token import next_token_cost

    class Broken(GPTRecipe):
        name = "broken"

        def job(self, rank: int = 0, world: int = 1) -> Any:
            made = super().job(rank, world)
            bad = made.batches.at(3).tokens

            def cost(model: Any, batch: Any) -> Any:
                sound = next_token_cost(model, batch)
                return sound * float("nan") if rank == 1 and (batch.tokens == bad).all() else sound

            made.objective = cost
            return made

    class Idle(GPTRecipe):
        name = "idle"

        def job(self, rank: int = 0, world: int = 1) -> Any:
            made = super().job(rank, world)
            made.model.idle = torch.nn.Parameter(torch.ones(2, 2))
            return made

    kind = {"broken": Broken, "idle": Idle}[name]
    settings = [name for name in job if name not in ("out", "strategy", "disturb")]
    return kind(**{name: job.pop(name) for name in settings})


if __name__ == "__main__":
    main()
