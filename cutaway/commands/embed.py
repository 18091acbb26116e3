"""`cutaway embed RUN|CHECKPOINT TEXTS`: a vector for each text, word or image."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.visible_text import data_output

if TYPE_CHECKING:
    from cutaway.runs.embedded_items import EmbeddedPiece


def main(asked: Any) -> None:
    out = Path(asked.out)
    if asked.out and out.suffix.lower() not in (".npy", ".npz", ".csv", ".safetensors"):
        raise ValueError(
            f"--out must end in .npy, .npz, .csv or .safetensors, got {asked.out!r}; try --out vectors.npy"
        )
    if asked.out and out.is_dir():
        raise ValueError(f"--out must be a file, got the folder {asked.out}; try --out {out / 'vectors.npy'}")
    if asked.out and out.exists() and not asked.overwrite:
        raise ValueError(f"--out must be a new file, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out vectors.npy")
    if asked.out and asked.json:
        raise ValueError("--json prints and --out writes a file, got both; leave one of them out")
    from cutaway.runs.embedded_items import embed_pieces, print_csv, shown, write_vectors
    from cutaway.runs.opening import open_source

    pieces = embed_pieces(open_source(asked.run), asked.inputs, asked.column, asked.encoding)
    if asked.out:
        count, width = write_vectors(out, shown(pieces))
        print(f"{count:,} vector{'s' * (count != 1)} of {width} numbers: {asked.out}", file=sys.stderr)
    elif asked.json:
        print_json(pieces)
    else:
        print_csv(data_output(), pieces)


def print_json(pieces: "Iterable[EmbeddedPiece]") -> None:
    """An array of objects, written as they come."""
    between = "["
    for names, vectors in pieces:
        for name, row in zip(names, vectors.tolist()):
            sys.stdout.write(between)
            json.dump({"text": name, "vector": [float(f"{x:.7g}") for x in row]}, sys.stdout, ensure_ascii=False)
            between = ",\n"
    print("]")
