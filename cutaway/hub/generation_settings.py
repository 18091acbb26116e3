r"""generation_config.json: how a checkpoint wants to be generated with, and the ids of its special tokens.

    {"eos_token_id": [128001, 128009], "temperature": 0.6, "top_p": 0.9, …}

All end tokens count: those of this file and those of config.json, which may name fewer. The rest is kept for saving.
"""

import warnings
from pathlib import Path
from typing import Any

from cutaway.hub.checkpoint_files import read_json
from cutaway.hub.families.config_fields import Config, tokens
from cutaway.hub.families.shared import end_config

GENERATION = "generation_config.json"
IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def read_generation(folder: Path, config: Config) -> Config:
    """What generation_config.json says, and the ids that only config.json names."""
    found: Config = {}
    if (folder / GENERATION).is_file():
        try:
            found = read_json(folder / GENERATION)
            tokens(found, "eos_token_id")
        except ValueError as error:  # the model is as good without
            warnings.warn(f"the model is loaded without its {GENERATION}: {error}", stacklevel=3)
            found = {}
    return {key: config[key] for key in IDS if config.get(key) is not None} | found


def with_all_ends(spec: Any, generation: Config) -> Any:
    """The design with all tokens that end a text."""
    if not hasattr(spec, "end"):
        return spec
    more = [one for one in tokens(generation, "eos_token_id") if one not in spec.end]
    return spec.but(end=(*spec.end, *dict.fromkeys(more)))


def with_special_ids(config: Config, model: Any) -> Config:
    """A configuration with the ids of special tokens that its family's layout leaves open."""
    tokenizer, kept = getattr(model, "tokenizer", None), getattr(model, "generation_config", None) or {}
    named = getattr(tokenizer, "special_ids", {})
    ids = {key: kept.get(key, named.get(key)) for key in IDS}
    return config | {key: value for key, value in ids.items() if value is not None and config.get(key) is None}


def generation_to_save(model: Any) -> Config | None:
    """The content of generation_config.json; None for models that write no text, or came with nothing to say."""
    kept, spec = getattr(model, "generation_config", None), getattr(model, "spec", None)
    return kept | end_config(spec.end) if kept and spec is not None and hasattr(spec, "end") else None


__all__ = ["GENERATION", "IDS", "generation_to_save", "read_generation", "with_all_ends", "with_special_ids"]
