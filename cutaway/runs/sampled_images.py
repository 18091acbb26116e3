r"""New images as files: one grid, an array, or a folder with a file for each."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import write_bytes
from cutaway.look.images.contact_sheets import contact_sheet
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.pixel_urls import as_bytes, png_of

if TYPE_CHECKING:
    from cutaway.runs.run import Run

PICTURES = (".png", ".svg", ".html")
ARRAYS = (".npz",)
DEFAULT = "samples.png"
WORD = "images"
_SHOWN = 400  # images in one grid


def expect_count(count: int, kind: str) -> None:
    """A grid holds so many images."""
    if kind in PICTURES and count > _SHOWN:
        raise ValueError(
            f"a grid shows at most {_SHOWN} images, got --count {count}; write them with --out images.npz, or "
            "into a folder: --out images/"
        )


def write_samples(run: "Run", images: Any, out: Path, kind: str, label: str = "") -> list[Path]:
    """Writes a grid, an array, or a file for each image; returns the paths."""
    if kind == ".png":
        write_bytes(out, png_of(contact_sheet([*images])))
    elif kind in PICTURES:
        title = f"{len(images)} new images" + (f" of {label}" if label else "")
        image_grid([*images], title=title).save(out)
    elif kind in ARRAYS:
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


def facts(images: Any) -> dict[str, Any]:
    """What is told of them beside their files."""
    return {"shape": list(images.shape)}


__all__ = ["ARRAYS", "DEFAULT", "PICTURES", "WORD", "expect_count", "facts", "write_samples"]
