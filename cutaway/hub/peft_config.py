r"""adapter_config.json in the layout of peft, read and written (Mangrulkar et al. 2022, huggingface/peft).

scale = lora_alpha / r,  with use_rslora lora_alpha / √r;  rank_pattern and alpha_pattern say otherwise for some
"""

import math
import re
from typing import Any

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PREFIX = "base_model.model."
BIASES = {"none": "none", "all": "all", "lora": "lora_only"}

# What would change the outputs and has no counterpart here, with the value that means "not used".
_UNSUPPORTED: dict[str, Any] = {
    "layer_replication": None,
    "trainable_token_indices": None,
    "target_parameters": None,
    "use_qalora": False,
    "use_bdlora": None,
    "lora_bias": False,
    "alora_invocation_tokens": None,
    "arrow_config": None,
    "kasa_config": None,
    "monteclora_config": None,
    "velora_config": None,
}

_MERGE = "merge it into its base with peft (merge_and_unload, then save_pretrained) where it can be, and load that"


def read_lora(config: dict[str, Any]) -> None:
    """Stops at what is no LoRA, and at options that would silently change the outputs."""
    kind = config.get("peft_type")
    if kind != "LORA":
        raise ValueError(f"an adapter must be of peft_type LORA, got {kind!r}; {_MERGE}")
    for key, unused in _UNSUPPORTED.items():
        if config.get(key) not in (unused, None, False, [], {}):
            raise ValueError(f"{key} must not be set for Cutaway to load an adapter, got {config[key]!r}; {_MERGE}")
    for name in ("alpha_pattern", "rank_pattern"):
        patterns = config.get(name) or {}
        if not isinstance(patterns, dict) or not all(_compiles(pattern) for pattern in patterns):
            raise ValueError(f"{name} must map patterns of names to numbers, got {patterns!r}; see {CONFIG}")
    if config.get("bias", "none") not in BIASES.values():
        raise ValueError(f"bias must be one of {', '.join(BIASES.values())}, got {config['bias']!r}; see {CONFIG}")


def _compiles(pattern: str) -> bool:
    try:
        return bool(re.compile(pattern))
    except re.error:
        return False


def alpha_of(config: dict[str, Any], module: str, rows: int) -> float:
    """α of a module by which a factor of so many rows has peft's scale.

    peft divides by the rank that was asked for. PiSSA and OLoRA write fewer rows where the matrix is smaller.
    """
    alpha = _of_module(config, "alpha_pattern", "lora_alpha", module, 8)
    rank = _of_module(config, "rank_pattern", "r", module, rows)
    if rank <= 0:
        raise ValueError(f"r must be at least 1, got {rank:g} in {CONFIG}; take it from a copy")
    return alpha if rank == rows else alpha * (rows / rank) ** (0.5 if config.get("use_rslora") else 1)


def _of_module(config: dict[str, Any], patterns: str, name: str, module: str, usual: float) -> float:
    """A number of a module: of the pattern that names it, else that of all."""
    for pattern in config.get(patterns) or {}:
        if re.match(rf"(.*\.)?({pattern})$", module):
            return number_of(config[patterns], pattern, usual)
    return number_of(config, name, usual)


def number_of(config: dict[str, Any], key: str, usual: float) -> float:
    """A number of the configuration."""
    value = config.get(key, usual)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"{key} must be a number, got {value!r} in {CONFIG}; take it from a copy")
    return float(value)


def write_lora(
    ranks: dict[str, int],
    alphas: dict[str, float],
    dropout: float,
    biases: str,
    rooted: bool,
    dora: bool,
    turned: bool,
    saved: list[str],
    task: str | None,
) -> dict[str, Any]:
    """The configuration of an adapter whose modules have these ranks and α; ``saved`` are modules saved in full."""
    rank, alpha = _most_common(ranks.values()), _most_common(alphas.values())
    return {
        "peft_type": "LORA",
        "task_type": task,
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": rank,
        "lora_alpha": _plain(alpha),
        "lora_dropout": dropout,
        "rank_pattern": {name: r for name, r in ranks.items() if r != rank},
        "alpha_pattern": {name: _plain(a) for name, a in alphas.items() if a != alpha},
        "target_modules": sorted(ranks),
        "modules_to_save": saved or None,
        "bias": BIASES[biases],
        "fan_in_fan_out": turned,
        "use_rslora": rooted,
        "use_dora": dora,
        "init_lora_weights": True,
    }


def _most_common(values: Any) -> Any:
    values = list(values)
    return max(values, key=values.count)


def _plain(alpha: float) -> float | int:
    """α as people write it: 16, not 16.0."""
    return int(alpha) if math.isclose(alpha, round(alpha)) and alpha == int(alpha) else alpha
