r"""A checkpoint folder in the Hugging Face layout: config.json and tensors in safetensors, one file or several.

The tensors themselves are read by mapped_tensors.py.
"""

import os
from pathlib import Path
from typing import Any

from cutaway.atomic_files import parse_json

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
FETCHED = (
    "config.json",
    "generation_config.json",
    "model*.safetensors",
    INDEX,
    "tokenizer*.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "vocab.*",
    "merges.txt",
    "*.model",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
    "*_Dense/config.json",
    "*_Dense/model.safetensors",
    "head.json",
    "head.safetensors",
)


def locate(source: str | Path) -> Path:
    """The folder of a checkpoint: as given, or fetched from the hub by its id (kept in the hub's own cache)."""
    if not isinstance(source, (str, os.PathLike)):
        raise ValueError(f"a checkpoint must be a folder or a hub id like 'gpt2', got {source!r}; pass its path or id")
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise ValueError(f"a checkpoint is a folder with config.json, got the file {source}; pass its folder")
    text = str(source)
    if text.count("/") > 1 or text.startswith((".", "/", "~")) or not text:
        raise ValueError(
            f"a checkpoint must be a folder or a hub id like 'gpt2', got {text!r}, which is not there; check the path"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(text, allow_patterns=list(FETCHED)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ValueError(
            f"a checkpoint must be a folder or a hub id that can be fetched, got {text!r} ({first}); "
            "check the name and the network, or download it and pass the folder"
        ) from None


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as a dict."""
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"a checkpoint folder must hold config.json, got {folder} without one; is it the right folder?"
        )
    config = read_json(folder / "config.json")
    if "recipe" in config:
        raise ValueError(
            f"a checkpoint is in the Hugging Face layout, got {folder}, a run of Cutaway, "
            "which needs no import; `cutaway look`, `generate` and the rest take it as it is, in Python cut.load"
        )
    return config


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object."""
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no text
        raise ValueError(f"{path.name} must be JSON, got {path} ({error}); download it again") from None
    if not isinstance(found, dict):
        raise ValueError(
            f"{path.name} must hold a JSON object, got a {type(found).__name__} in {path}; download it again"
        )
    return found


def tensor_files(folder: Path) -> list[Path]:
    """The one file, or all shards that the index names."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if (folder / INDEX).is_file():
        index = read_json(folder / INDEX).get("weight_map")
        names = sorted({str(name) for name in index.values()}) if isinstance(index, dict) else []
        absent = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
        if absent or not names:
            raise ValueError(
                f"every shard named in {INDEX} must be in the folder, got none of {', '.join(absent) or 'them'}; "
                "download them again"
            )
        return [folder / name for name in names]
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    if pickles:
        raise ValueError(
            f"weights must be safetensors, got the pickle {pickles[0]}, which can run code when loaded; convert it "
            "once, where you trust it: transformers' model.save_pretrained(folder) writes safetensors"
        )
    raise ValueError(
        f"a checkpoint folder must hold {SINGLE}, got {folder} without one; is it the right folder? Checkpoints that "
        "come as pickles only must be converted with transformers' model.save_pretrained(folder)"
    )
