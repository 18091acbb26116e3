"""`cutaway embed RUN|CHECKPOINT TEXTS`: a vector for each text, word or image."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags
from cutaway.visible_text import data_output

if TYPE_CHECKING:
    from cutaway.runs.embedded_items import EmbeddedPiece


@dataclass(frozen=True)
class Embed:
    """Writes a vector for each text of a file: texts that mean the like have vectors that point alike.

    Runs of text models and sentence-transformers' checkpoints embed texts, runs of word vectors words, runs of images
    the images of a folder, of tables rows, of a graph its vertices (a file of names, or all), of many graphs each of
    them. `cutaway nearest RUN "a question" --texts FILE` searches them.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway embed my-checkpoint texts.txt --out vectors.npy",
        "cutaway embed runs/bert-1 reviews.csv --column review --out v.csv",
        "cutaway embed runs/cnn-1 photos/ --out vectors.csv",
        "cutaway embed runs/gcn-1 all --out vertices.npy",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder, or a checkpoint: a folder in the Hugging Face layout or a hub id"""
    texts: Annotated[str, tyro.conf.Positional]
    """a file with one text a line, a table (CSV, TSV, JSON lines, Parquet), for runs of images a folder of them, for
    runs of a graph names of vertices or all"""
    column: str = ""
    """the column of a table that holds the texts (default: found by its name, else the longest texts)"""
    out: str = ""
    """a file to write: .npy, .npz or .safetensors (the vectors), or .csv (texts and vectors); default: CSV on the
    screen"""
    encoding: str = "utf-8"
    """encoding of the file"""
    overwrite: bool = False
    """write --out even if there is such a file"""
    json: bool = False
    """print JSON, an object with the text and its vector for each"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Embed, "cutaway embed", argv)
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

    pieces = embed_pieces(open_source(asked.run), asked.texts, asked.column, asked.encoding)
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
