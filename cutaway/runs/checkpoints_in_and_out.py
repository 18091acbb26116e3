r"""Hugging Face checkpoints in and out: a checkpoint becomes a run folder, and a run becomes a checkpoint."""

from pathlib import Path
from typing import Any

from cutaway.runs.run import Run


def import_checkpoint(source: str, out: str | None = None) -> Run:
    """A run folder of a checkpoint: its spec, weights and tokenizer."""
    import torch

    from cutaway.hub import from_pretrained
    from cutaway.recipes.imported import ImportedRecipe
    from cutaway.training.run_folder.folder import RunFolder

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
    from cutaway.atomic_files import write_json
    from cutaway.data.text.special_tokens import MARKS
    from cutaway.hub import save_pretrained

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
