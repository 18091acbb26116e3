r"""The files in which sentence-transformers keeps how a text becomes a vector, read and written.

    modules.json                        the steps in order: Transformer, Pooling, Dense …, Normalize
    1_Pooling/config.json               {"pooling_mode_mean_tokens": true, …}, newer: {"pooling_mode": "mean"}
    2_Dense/config.json, …safetensors   {"out_features": 512, "bias": true, "activation_function": "torch.nn…Tanh"}
    sentence_bert_config.json           {"max_seq_length": 256}
    config_sentence_transformers.json   {"prompts": {"query": "query: "}, "default_prompt_name": null}

They become the ``sentence`` of a model's spec. The classes that the files name are looked up in the table below, never
imported. Reimers and Gurevych 2019.
"""

import warnings
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from cutaway.atomic_files import parse_json, write_json, writing
from cutaway.hub.checkpoint_files import SINGLE, read_json
from cutaway.models.specs.parts import SentenceSpec

MODULES, LENGTH, PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
LAYER = "sentence_layers.{}.linear."  # our names of a dense layer's tensors
# Their names of our poolings, and the older flags, in the order in which they stand side by side.
MODES = {
    "cls": ("cls", "pooling_mode_cls_token"),
    "max": ("max", "pooling_mode_max_tokens"),
    "mean": ("mean", "pooling_mode_mean_tokens"),
    "mean_sqrt": ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"),
    "weighted": ("weightedmean", "pooling_mode_weightedmean_tokens"),
    "last": ("lasttoken", "pooling_mode_lasttoken"),
}
ACTIVATIONS = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "identity": "torch.nn.modules.linear.Identity",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu": "torch.nn.modules.activation.GELU",
    "logistic": "torch.nn.modules.activation.Sigmoid",
    "silu": "torch.nn.modules.activation.SiLU",
}


def read_sentence(folder: Path) -> tuple[SentenceSpec | None, dict[str, Tensor]]:
    """How a checkpoint makes sentence vectors, and the tensors of its dense layers; (None, {}) if it does not say.

    Steps that Cutaway does not have are a warning: the model itself is as good without.
    """
    if not (folder / MODULES).is_file():
        return None, {}
    try:
        return _read(folder)
    except (ValueError, OSError) as error:  # a step may lack its file
        warnings.warn(
            f"the model is loaded without its way to pool a text, and takes the mean of the tokens: {error}",
            stacklevel=3,
        )
        return None, {}


def _read(folder: Path) -> tuple[SentenceSpec, dict[str, Tensor]]:
    try:
        steps = parse_json((folder / MODULES).read_text(encoding="utf-8"))
        kinds = [(str(step["type"]).rpartition(".")[2], folder / str(step["path"])) for step in steps]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{MODULES} must be JSON that lists the steps, got {folder / MODULES}; download it") from None
    names = [kind for kind, _ in kinds]
    dense = [path for kind, path in kinds if kind == "Dense"]
    normalize = names[-1:] == ["Normalize"]
    if names != ["Transformer", "Pooling", *["Dense"] * len(dense), *["Normalize"] * normalize]:
        raise ValueError(
            f"the steps must be Transformer, Pooling, any Dense, and Normalize or not, got {', '.join(names)}; "
            "the vectors that sentence-transformers makes of them are others"
        )
    if any(not path.resolve().is_relative_to(folder.resolve()) for _, path in kinds):
        raise ValueError(f"the steps must be in the checkpoint's folder, got others in {folder / MODULES}; mend it")
    layers, tensors = [], dict[str, Tensor]()
    for i, path in enumerate(dense):
        layer, found = read_dense(path)
        layers.append(layer)
        tensors |= {LAYER.format(i) + name: x for name, x in found.items()}
    prompts, default = _read_prompts(folder)
    spec = SentenceSpec(
        pooling=read_pooling(kinds[1][1]),
        layers=tuple(layers),
        normalize=normalize,
        context=read_length(folder),
        prompts=prompts,
        prompt=default,
    )
    return spec, tensors


def read_pooling(folder: Path) -> tuple[str, ...]:
    """The poolings of a Pooling step."""
    config = read_json(folder / "config.json")
    if config.get("include_prompt", True) is not True:
        raise ValueError("a pooling must take in the prompt, got include_prompt=false, which Cutaway does not have")
    ours = {theirs: name for name, (theirs, _) in MODES.items()}
    given = config.get("pooling_mode")
    if given is None:
        given = [theirs for theirs, flag in MODES.values() if config.get(flag)] or ["mean"]
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, list) else [given]
    if not listed or any(mode not in ours for mode in listed):
        raise ValueError(f"a pooling must be one of {', '.join(ours)}, got {given!r}; take another checkpoint")
    return tuple(ours[mode] for mode in listed)


def read_dense(folder: Path) -> tuple[tuple[int, str, bool], dict[str, Tensor]]:
    """The width, activation and bias of a Dense step, and its tensors as ours: the weight (inputs, outputs)."""
    config = read_json(folder / "config.json")
    short = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    ours = {theirs.rpartition(".")[2]: name for name, theirs in ACTIVATIONS.items()}
    if short not in ours or config.get("use_residual"):
        wrong = "use_residual=true" if config.get("use_residual") else repr(config.get("activation_function"))
        raise ValueError(f"a Dense step must be one of {', '.join(ours)} without a residual, got {wrong}")
    if not (folder / SINGLE).is_file():
        raise ValueError(f"a Dense step needs its {SINGLE}, got {folder} without one; save it as safetensors")
    try:
        tensors = load_file(folder / SINGLE)
    except Exception as error:  # safetensors raises its own kind
        raise ValueError(f"a Dense step needs safetensors, got {folder / SINGLE} ({error}); download it") from None
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    wide = (config.get("out_features"), config.get("in_features"))
    if weight is None or tuple(weight.shape) != wide or (bias is not None and tuple(bias.shape) != wide[:1]):
        raise ValueError(f"a Dense step must have the sizes of its config.json, got others in {folder}; download it")
    found = {"weight": weight.T.contiguous()} | ({} if bias is None else {"bias": bias})
    return (len(weight), ours[short], bias is not None), found


def read_length(folder: Path) -> int | None:
    """The most tokens of a text: of sentence-transformers' own file, else of the tokenizer's; None for no limit."""
    for name, field in ((LENGTH, "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (folder / name).is_file():
            found = read_json(folder / name).get(field)
            if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 1 << 31:
                return found
    return None


def _read_prompts(folder: Path) -> tuple[tuple[tuple[str, str], ...], str | None]:
    config = read_json(folder / PROMPTS) if (folder / PROMPTS).is_file() else {}
    given = config.get("prompts")
    prompts = {str(name): str(text) for name, text in given.items() if text} if isinstance(given, dict) else {}
    default = config.get("default_prompt_name")
    return tuple(prompts.items()), default if default in prompts else None


def write_sentence(
    folder: Path, spec: SentenceSpec, context: int | None, width: int, tensors: dict[str, Tensor]
) -> None:
    """Writes the files, so that sentence-transformers makes the same vectors; ``tensors`` are the model's own."""
    steps = ["", "1_Pooling", *(f"{i + 2}_Dense" for i in range(len(spec.layers)))]
    steps += [f"{len(steps)}_Normalize"] if spec.normalize else []
    kind = {"": "Transformer"}
    write_json(
        folder / MODULES,
        [
            {
                "idx": i,
                "name": str(i),
                "path": path,
                "type": f"sentence_transformers.models.{kind.get(path) or path.partition('_')[2]}",
            }
            for i, path in enumerate(steps)
        ],
    )
    write_json(folder / "1_Pooling" / "config.json", pooling_config(spec.pooling, width))
    inputs = width * len(spec.pooling)
    for i, (outputs, activation, bias) in enumerate(spec.layers):
        path = folder / f"{i + 2}_Dense"
        sizes = {"in_features": inputs, "out_features": outputs, "bias": bias}
        write_json(path / "config.json", sizes | {"activation_function": ACTIVATIONS[activation]})
        own = {"linear.weight": tensors[LAYER.format(i) + "weight"].T.contiguous().cpu()}
        own |= {"linear.bias": tensors[LAYER.format(i) + "bias"].cpu()} if bias else {}
        with writing(path / SINGLE) as file:
            save_file(own, file.name, metadata={"format": "pt"})
        inputs = outputs
    write_json(folder / LENGTH, {"max_seq_length": context, "do_lower_case": False})
    if spec.prompts:
        write_json(folder / PROMPTS, {"prompts": dict(spec.prompts), "default_prompt_name": spec.prompt})


def pooling_config(pooling: tuple[str, ...], width: int) -> dict[str, Any]:
    """A Pooling step: by flags, which every version reads, or by names if the order is not that of the flags."""
    sizes = {"word_embedding_dimension": width}
    if pooling == tuple(name for name in MODES if name in pooling):
        return sizes | {flag: name in pooling for name, (_, flag) in MODES.items()}
    return sizes | {"pooling_mode": [MODES[name][0] for name in pooling]}


__all__ = ["read_sentence", "write_sentence"]
