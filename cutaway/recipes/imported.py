r"""Runs that were not trained here: a Hugging Face checkpoint as a run folder, and a run as a checkpoint."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.base import Recipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.recipes.opened import Run


@dataclass(frozen=True)
class ImportedRecipe(Recipe):
    """A checkpoint that was trained elsewhere; `cutaway import` makes one."""

    name: ClassVar[str] = "imported"

    data: str = ""
    """where the checkpoint came from"""

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        from cutaway.models import from_spec, spec_from_dict

        return from_spec(spec_from_dict(config["spec"]))

    def generate(self, run: "Run", prompt: str, **how: Any) -> str:
        from cutaway.models import generate_text

        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **how)


def import_checkpoint(source: str, out: str | None = None) -> "Run":
    """A run folder of a checkpoint: its spec, weights and tokenizer."""
    import torch

    from cutaway.hub import from_pretrained
    from cutaway.recipes.opened import Run
    from cutaway.training.folders import RunFolder

    model: Any = from_pretrained(source)
    name = Path(source).name or "imported"
    folder = RunFolder.create(Path(out)) if out else RunFolder.create_next(Path("runs"), name)
    try:
        if model.tokenizer is not None:
            folder.write_files({"tokenizer.json": model.tokenizer.save})
        folder.write_weights(dict(model.state_dict()))
        folder.write_config(
            {
                "recipe": ImportedRecipe.name,
                "config": ImportedRecipe(data=source).to_dict(),
                "spec": model.spec.to_dict(),
                "data": {"source": source},
                "threads": torch.get_num_threads(),
                "torch": torch.__version__,
            }
        )
    finally:
        folder.release()
    return Run(folder.path)


def export_run(path: str, to: str) -> Path:
    """The checkpoint of a run's model, with its tokenizer, in a folder that holds nothing else yet."""
    from cutaway.hub import save_pretrained
    from cutaway.recipes.opened import Run

    run = Run(path)
    folder = Path(to)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"a checkpoint needs a folder of its own, got {to}, which is not empty; choose another --to")
    save_pretrained(run.model, folder)
    tokenizer = run.tokenizer
    if tokenizer is not None and not (folder / "tokenizer.json").exists():
        tokenizer.save(folder / "tokenizer.json")
    return folder
