"""`cutaway sample RUN`: new images, or new graphs, of a trained model."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class SampleNew:
    """Makes new images with a run of `diffusion`, `vae` or `autoencoder`, or new graphs with one of `graph-rnn`.

    Images are written as one grid; with --label all of them are of that class. An --out that ends in .npz keeps the
    numbers, one without an ending is a folder with a file for each image. Graphs are written as a folder of GraphML
    with a picture beside it, or by the ending of --out as one list of edges (.csv), an array (.npz) or a picture.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway sample runs/diffusion-1 --label 7 --count 16 --out grid.png",
        "cutaway sample runs/diffusion-1 --guidance 3 --steps 50 --out clear.png",
        "cutaway sample runs/vae-1 --count 100 --seed 1 --out new-images/",
        "cutaway sample runs/graph-rnn-1 --count 8 --out new-graphs/",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    label: str = ""
    """a class; without one, images of any (of diffusion: every class in turn)"""
    count: int = 16
    """images or graphs to make"""
    guidance: float | None = None
    """of diffusion: how far to go towards the class; 1 adds nothing, 0 leaves it out (default: that of the run)"""
    steps: int | None = None
    """of diffusion: steps from noise to image (default: those of the run)"""
    seed: int = 0
    """the same seed gives the same images or graphs"""
    out: str = ""
    """a grid (.png, .svg, .html), an array (.npz), or a folder; of graphs also .csv (default: in the run)"""
    overwrite: bool = False
    """write --out even if there is such a file"""
    json: bool = False
    """print JSON: the files"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(SampleNew, "cutaway sample", argv)
    if asked.out and not asked.overwrite and _is_taken(Path(asked.out)):
        raise ValueError(f"--out must be new, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out grid.png")
    from cutaway.runs.execution import load

    run = load(asked.run)
    files: Any = import_module(run.recipe.sample_files or "cutaway.runs.sampled_images")
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
