"""`cutaway sample RUN`: new images of a trained model."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from cutaway.commands.flags import parse_flags

_PICTURES = (".png", ".svg", ".html")
_SHOWN = 400  # images in one grid


@dataclass(frozen=True)
class SampleImages:
    """Makes new images with a run of `diffusion`, `vae` or `autoencoder`, and writes them as one grid.

    With --label all of them are of that class. An --out that ends in .npz keeps the numbers, one without an ending is a
    folder with a file for each image.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway sample runs/diffusion-1 --label 7 --count 16 --out grid.png",
        "cutaway sample runs/diffusion-1 --guidance 3 --steps 50 --out clear.png",
        "cutaway sample runs/vae-1 --count 100 --seed 1 --out new-images/",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    label: str = ""
    """a class; without one, images of any (of diffusion: every class in turn)"""
    count: int = 16
    """images to make"""
    guidance: float | None = None
    """of diffusion: how far to go towards the class; 1 adds nothing, 0 leaves it out (default: that of the run)"""
    steps: int | None = None
    """of diffusion: steps from noise to image (default: those of the run)"""
    seed: int = 0
    """the same seed gives the same images"""
    out: str = ""
    """a grid (.png, .svg, .html), an array (.npz), or a folder (default: samples.png in the run)"""
    overwrite: bool = False
    """write --out even if there is such a file"""
    json: bool = False
    """print JSON: the files"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(SampleImages, "cutaway sample", argv)
    kind = Path(asked.out).suffix.lower() if asked.out else ".png"
    if kind not in (*_PICTURES, ".npz", ""):
        raise ValueError(
            f"--out must end in {', '.join(_PICTURES)} or .npz, or name a folder, got {asked.out!r}; try --out grid.png"
        )
    if kind in _PICTURES and asked.count > _SHOWN:
        raise ValueError(
            f"a grid shows at most {_SHOWN} images, got --count {asked.count}; write them with --out images.npz, or "
            "into a folder: --out images/"
        )
    if asked.out and not asked.overwrite and _is_taken(Path(asked.out)):
        raise ValueError(f"--out must be new, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out grid.png")
    from cutaway.runs.execution import load

    run = load(asked.run)
    images = run.sample(asked.count, asked.label or None, asked.guidance, asked.steps, asked.seed)
    out = Path(asked.out) if asked.out else run.path / "samples.png"
    files = _write(images, out, kind, asked.label)
    if asked.json:
        json.dump({"files": [str(path) for path in files], "shape": list(images.shape)}, sys.stdout, ensure_ascii=False)
        print()
    else:
        print(out)


def _is_taken(out: Path) -> bool:
    return any(out.iterdir()) if out.is_dir() else out.exists()


def _write(images: Any, out: Path, kind: str, label: str) -> list[Path]:
    """Writes a grid, an array, or a file for each image; returns the paths."""
    from cutaway.atomic_files import write_bytes
    from cutaway.look.images.contact_sheets import contact_sheet
    from cutaway.look.images.image_grids import image_grid
    from cutaway.look.images.pixel_urls import as_bytes, png_of

    if kind == ".png":
        write_bytes(out, png_of(contact_sheet([*images])))
    elif kind in _PICTURES:
        title = f"{len(images)} new images" + (f" of {label}" if label else "")
        image_grid([*images], title=title).save(out)
    elif kind == ".npz":
        import io

        import numpy as np

        file = io.BytesIO()
        np.savez_compressed(file, images=images.numpy())
        write_bytes(out, file.getvalue())
    else:
        out.mkdir(parents=True, exist_ok=True)
        wide = len(str(len(images)))
        paths = [out / f"{i:0{wide}}.png" for i in range(1, len(images) + 1)]
        for path, image in zip(paths, images, strict=True):
            write_bytes(path, png_of(as_bytes(image)))
        return paths
    return [out]
