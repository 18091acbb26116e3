r"""Opens a run folder or a checkpoint, so that verbs can take either."""

import os
from pathlib import Path
from typing import Any

from cutaway.hub.checkpoint_files import read_json
from cutaway.overriding import override
from cutaway.recipes.imported import ImportedRecipe
from cutaway.runs.run import Run


class CheckpointRun(Run):
    """A checkpoint (a folder in the Hugging Face layout, or a hub id) asked as a run, without a folder of its own."""

    def __init__(self, source: str) -> None:
        from cutaway.hub import from_pretrained

        model: Any = from_pretrained(source)
        self.path = Path(source)
        self.recipe = ImportedRecipe(data=source)
        self.about = {"recipe": self.recipe.name, "config": self.recipe.to_dict(), "data": {"source": source}}
        self.about |= {"spec": model.spec.to_dict(), "generation": model.generation_config}
        self._model = model
        self.__dict__["tokenizer"] = model.tokenizer  # instead of reading it from the run's folder

    @override
    def file(self, name: str) -> Path | None:
        return None


def open_source(source: str | os.PathLike[str]) -> Run:
    """The run of a run folder, or of a checkpoint."""
    folder = Path(source).expanduser()
    config = folder / "config.json"
    if config.is_file() and "recipe" not in read_json(config):
        return CheckpointRun(os.fspath(folder))
    if folder.exists() or not _may_be_a_hub_id(os.fspath(source)):
        return Run(folder)
    return CheckpointRun(os.fspath(source))


def _may_be_a_hub_id(text: str) -> bool:
    """Whether a text may be ``gpt2`` or ``sentence-transformers/all-MiniLM-L6-v2``; runs/x is meant as a folder."""
    parts = text.split("/")
    return 1 <= len(parts) <= 2 and all(parts) and parts[0] not in ("runs", ".", "..", "~")


__all__ = ["CheckpointRun", "open_source"]
