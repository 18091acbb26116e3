r"""Checkpoints in and out: one of Hugging Face's layout, or a file of word vectors, becomes a run, and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from cutaway.runs.run import Run
from cutaway.tasks.abilities.dispatch import find_method

_VECTORS = {".txt", ".vec", ".bin", ".npy"}  # files of word vectors end so, or so and then by how they are packed


def import_checkpoint(source: str, out: str | None = None) -> Run:
    """A run folder of a checkpoint: its spec, weights and tokenizer; or of a file of word vectors."""
    if Path(source).expanduser().is_file() and _VECTORS & set(Path(source).suffixes):
        return import_vectors(source, out)
    import torch

    from cutaway.hub import from_pretrained
    from cutaway.recipes.imported import ImportedRecipe
    from cutaway.training.run_folder.folder import RunFolder

    model: Any = from_pretrained(source)
    name = Path(source).name or "imported"
    folder = RunFolder.create(Path(out)) if out else RunFolder.create_next(Path("runs"), name)
    try:
        if model.tokenizer is not None:
            tokenizer = model.tokenizer
            folder.write_files({"tokenizer.json": tokenizer.save, "tokenizer_config.json": tokenizer.save_settings})
        folder.write_weights(dict(model.state_dict()))
        folder.write_config(
            {
                "recipe": ImportedRecipe.name,
                "config": ImportedRecipe(data=source).to_dict(),
                "spec": model.spec.to_dict(),
                "generation": model.generation_config,
                "data": {"source": source},
                "threads": torch.get_num_threads(),
                "torch": torch.__version__,
            }
        )
        folder.write_checksums()
    finally:
        folder.release()
    return Run(folder.path)


def import_vectors(source: str, out: str | None = None) -> Run:
    """A run folder of a file of word vectors, in any of the formats that `cut.data.read_vectors` knows."""
    import torch

    from cutaway.data.text.vector_files import read_vectors
    from cutaway.data.words.word_streams import write_counted_words
    from cutaway.models.words.word_vectors import WordVectors, WordVectorsSpec
    from cutaway.recipes.words.imported_vectors import ImportedVectorsRecipe
    from cutaway.recipes.words.vector_runs import WORDS
    from cutaway.training.run_folder.folder import RunFolder

    try:
        words, matrix = read_vectors(source)
    except ValueError as error:
        raise ValueError(
            f"a checkpoint is a folder with config.json, got the file {source}, which holds no word vectors either: "
            f"{error}"
        ) from None
    model = WordVectors(WordVectorsSpec(vocabulary=len(words), width=matrix.shape[1], output="none"))
    model.embed.weight.data = torch.from_numpy(matrix)
    name = Path(source).name.split(".")[0] or "vectors"
    folder = RunFolder.create(Path(out)) if out else RunFolder.create_next(Path("runs"), name)
    try:
        folder.write_files({WORDS: lambda path: write_counted_words(path, words, [0] * len(words))})
        folder.write_weights(dict(model.state_dict()))
        folder.write_config(
            {
                "recipe": ImportedVectorsRecipe.name,
                "config": ImportedVectorsRecipe(data=source).to_dict(),
                "spec": model.spec.to_dict(),
                "data": {"source": source},
                "threads": torch.get_num_threads(),
                "torch": torch.__version__,
            }
        )
        folder.write_checksums()
    finally:
        folder.release()
    return Run(folder.path)


def expect_family(model: Any, run: Run) -> None:
    """Only kinds of models that some family of checkpoints has can be exported."""
    from cutaway.hub.family_choice import exported_models

    kinds = exported_models()
    kind = getattr(getattr(model, "spec", None), "model", type(model).__name__)
    if kind not in kinds:
        raise ValueError(
            f"a run can be exported if its model is a {', '.join(kinds[:-1])} or {kinds[-1]}, got {run.path}, a run of "
            f"{run.recipe.name!r}, whose model is a {kind}; take its weights as they are, from "
            f"{run.path / 'model.safetensors'}"
        )


def export_adapter(run: Run, to: str) -> Path:
    """What a run learned by LoRA or adapters, alone, in peft's layout."""
    from cutaway.hub.adapters import write_adapter
    from cutaway.training.adapters.records import adapters_of

    if not adapters_of(run.model):
        raise ValueError(
            f"an adapter is what LoRA or adapters learned beside frozen weights, got {run.path}, a run of "
            f"{run.recipe.name!r} without one; leave --adapter out to export all weights"
        )
    run.model.tokenizer = run.tokenizer
    return write_adapter(run.model, to)


def export(run: Run, to: str, adapter: bool = False) -> Path:
    """What a run is exported as (see `export_run`): a new folder, or of word vectors a file."""
    return export_run(str(run.path), to, adapter)


def export_refusal(run: Run) -> str:
    """Why a run cannot be exported; "" if it can: by its recipe, or as a model that some family of checkpoints has."""
    from cutaway.hub.family_choice import exported_models

    kind = (run.about.get("spec") or {}).get("model", "")
    known = find_method(run, "export") is not None or kind in exported_models()
    return "" if known else "no family of checkpoints has its model"


def export_run(path: str, to: str, adapter: bool = False) -> Path:
    """What a run is exported as: by default a checkpoint of its model, with its tokenizer, in a new folder.

    A head that transformers has no class for is written beside the body (hub/head_files.py). With ``adapter``, what the
    run learned by LoRA or adapters alone.
    """
    from cutaway.atomic_files import writing_folder
    from cutaway.data.text.special_tokens import frame, has_special_tokens
    from cutaway.hub import save_pretrained

    run = Run(path)
    if adapter:
        _expect_empty(Path(to))
        with _writable(Path(to)), writing_folder(to) as part:
            export_adapter(run, str(part))
        return Path(to)
    own = find_method(run, "export")
    if own is not None and (written := own(to)) is not None:
        return written
    folder = Path(to)
    _expect_empty(folder)
    model: Any = run.model
    expect_family(model, run)
    tokenizer = run.tokenizer
    if tokenizer is not None and not tokenizer.settings and has_special_tokens(tokenizer):
        frame(tokenizer)  # a run's folder holds the tokenizer alone; the roles of our own marks are known
    model.tokenizer = tokenizer
    try:
        with (
            _writable(folder),
            writing_folder(folder) as part,
        ):  # one that is killed in the middle leaves nothing in its place
            save_pretrained(model, part)
        return folder
    except ValueError as error:
        design = getattr(run.config, "design", None)
        if design is None:
            raise
        raise ValueError(
            f"a run's design must have an architecture of Hugging Face to be exported, got {design!r}, which has none; "
            f"train it with --design llama or --design gpt2 ({error})"
        ) from None


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Turns a failure to write into a sentence; what was written is gone."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ValueError(
            f"an export needs a folder that can be written, got {folder} ({why.lower()}); choose another --to"
        ) from None


def _expect_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(
            f"a checkpoint needs a folder of its own, got {folder}, which is not empty; choose another --to"
        )
