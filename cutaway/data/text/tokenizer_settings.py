r"""The settings beside a tokenizer.json: which special token has which role, and the template of conversations.

tokenizer_config.json       {"eos_token": "</s>", "chat_template": "…", …}
special_tokens_map.json     the roles once more; older checkpoints have some of them only here
chat_template.jinja         the template in a file of its own, as newer checkpoints have it
"""

from pathlib import Path
from typing import Any

from cutaway.atomic_files import parse_json

Settings = dict[str, Any]
FILE, ROLES_FILE, TEMPLATE_FILE = "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"
ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


def read_settings(folder: Path) -> Settings:
    """The settings of the tokenizer in a folder; empty if there are none."""
    found = _read_object(folder / FILE)
    older = _read_object(folder / ROLES_FILE)
    found |= {role: older[role] for role in ROLES if role in older and found.get(role) is None}
    if (folder / TEMPLATE_FILE).is_file():
        try:
            found["chat_template"] = (folder / TEMPLATE_FILE).read_text(encoding="utf-8")
        except ValueError:
            raise ValueError(f"{TEMPLATE_FILE} must be text in UTF-8, got other bytes in {folder}; save it") from None
    found.pop("auto_map", None)  # names code that is not here
    return found


def _read_object(path: Path) -> Settings:
    if not path.is_file():
        return {}
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} must be JSON, got {path} ({error}); download it again") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} must hold a JSON object, got a {type(found).__name__} in {path}; download it")
    return found


def special_names(settings: Settings) -> dict[str, str]:
    """The special token of each role that the settings name; a token may be written as an object with its content."""
    found = {}
    for role in ROLES:
        token = settings.get(role)
        content = token.get("content") if isinstance(token, dict) else token
        if isinstance(content, str):
            found[role] = content
    return found


__all__ = ["FILE", "ROLES", "Settings", "read_settings", "special_names"]
