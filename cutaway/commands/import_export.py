"""`cutaway import CHECKPOINT` and `cutaway export RUN --to FOLDER`: checkpoints and word vectors in and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from cutaway.commands.flag_types import PLACE
from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Import:
    """Makes a run of a checkpoint, or of a file of word vectors, so that every other verb can use it."""

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway import gpt2",
        "cutaway import my-checkpoint --out runs/mine",
        "cutaway import glove.6B.100d.txt",
    )

    checkpoint: Annotated[str, PLACE]
    """a folder in the Hugging Face layout, a hub id, or a file of word vectors: .txt, .vec, .bin or .npy, or packed"""
    out: str = ""
    """the run folder (default: the next free one in runs/)"""


def import_main(argv: Sequence[str]) -> None:
    asked = parse_flags(Import, "cutaway import", argv)
    from cutaway.runs.checkpoints_in_and_out import import_checkpoint

    run = import_checkpoint(asked.checkpoint, asked.out or None)
    print(f"run: {run.path}")


def export_main(asked: Any) -> None:
    from cutaway.runs.checkpoints_in_and_out import export_run

    written = export_run(asked.run, asked.to, asked.adapter)
    kind = "adapter" if asked.adapter else "checkpoint" if written.is_dir() else "vectors"
    print(f"{kind}: {written}")
    if (written / "head.json").is_file():
        lines = f"{written / 'README.md'} has the lines that use both with"
        print(
            f"head: peft loads the adapter without it, as no class of transformers has it; beside it, {lines} peft"
            if asked.adapter
            else f"head: beside the body; {lines} transformers"
        )
