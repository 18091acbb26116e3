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

    def read_inputs(self, source: str) -> list[str]:
        from cutaway.recipes.inputs import read_lines

        return read_lines(source)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """For each mask of a text, or of several, its most probable fillings, if the model is a BERT for that."""
        from cutaway.models.outputs import MaskedHead
        from cutaway.recipes.filling import fill_gaps
        from cutaway.recipes.inputs import as_texts

        if not isinstance(getattr(run.model, "head", None), MaskedHead):
            raise self._cannot("predict, as its model has no head for masked tokens")
        if run.tokenizer is None:
            raise ValueError(f"text needs a tokenizer, got {run.path} without one; import a checkpoint that has it")
        return [guess._asdict() for guess in fill_gaps(run.model, run.tokenizer, as_texts(inputs))]


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
    from cutaway.atomic import write_json
    from cutaway.data.marks import MARKS
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
    if tokenizer is not None and all(tokenizer.inner.token_to_id(name) is not None for name in MARKS):
        # without it, transformers would build BERT's own tokenizer around our vocabulary
        roles = dict(zip(("pad_token", "cls_token", "sep_token", "mask_token"), MARKS, strict=True))
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"} | roles)
    return folder
