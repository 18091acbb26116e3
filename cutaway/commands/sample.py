"""`cutaway sample RUN`: new images, or new graphs, of a trained model."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from cutaway.tasks.abilities.ability import offers_of


def main(asked: Any) -> None:
    if asked.out and not asked.overwrite and _is_taken(Path(asked.out)):
        raise ValueError(f"--out must be new, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out grid.png")
    from cutaway.runs.execution import load

    run = load(asked.run)
    offer = offers_of(type(run.recipe)).get("sample")
    files: Any = import_module((offer and offer.writer) or "cutaway.runs.sampled_images")
    kind = Path(asked.out).suffix.lower() if asked.out else Path(files.DEFAULT).suffix
    if kind not in (*files.PICTURES, *files.ARRAYS, ""):
        raise ValueError(
            f"--out must end in {', '.join((*files.PICTURES, *files.ARRAYS[:-1]))} or {files.ARRAYS[-1]}, or name a "
            f"folder, got {asked.out!r}; try --out {'grid.png' if kind else files.DEFAULT}"
        )
    files.expect_count(asked.count, kind)
    made = run.sample(asked.count, asked.label or None, asked.guidance, asked.steps, asked.seed)
    out = Path(asked.out) if asked.out else run.path / files.DEFAULT
    paths = files.write_samples(run, made, out, kind, asked.label)
    if asked.json:
        told = {"files": [str(path) for path in paths]} | files.facts(made)
        json.dump(told, sys.stdout, ensure_ascii=False)
        print()
    else:
        print(out)


def _is_taken(out: Path) -> bool:
    return any(out.iterdir()) if out.is_dir() else out.exists()
