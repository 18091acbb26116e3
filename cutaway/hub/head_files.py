r"""A head for labels beside a checkpoint's body, where transformers has no class that would hold both.

    model.safetensors, config.json      the body, which transformers' AutoModel loads
    head.safetensors                    classify.weight (labels, inputs), classify.bias, …: as torch.nn.Linear has them
    head.json                           {"pooling": "layers", "labels": ["neg", "pos"], "context": 256, …}
    README.md                           the few lines that compute the logits with transformers alone

Beside an adapter (hub/adapters.py) the last three stand, too: peft loads the adapter onto the checkpoint, and the head
is used by the same lines. Transformers' classifiers read one token of a text. Ours also read the mean, a mean weighed
by attention, or the means of all layers side by side.
"""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from cutaway.atomic_files import write_json, write_text, writing
from cutaway.hub.checkpoint_files import read_json
from cutaway.hub.tensor_rules import Rules, linear
from cutaway.models.specs.parts import HeadSpec

TENSORS, CONFIG, README = "head.safetensors", "head.json", "README.md"
FORMAT = 1
_FIELDS = ("kind", "pooling", "labels", "classes", "hidden", "bias")  # of `HeadSpec`


def head_rules(head: HeadSpec) -> Rules:
    """The tensors of a head: ours, and those of its file."""
    found: Rules = linear("head.classify", "classify", head.bias)
    if head.hidden:
        found |= linear("head.hidden.linear", "hidden")
    if head.kind == "classes" and head.pooling == "attention":
        found |= linear("head.pool.map", "pool", bias=False)
    return found


def write_head(folder: Path, model: Any, of_adapter: bool = False) -> None:
    """Writes the head of a model of text, and how it is used with transformers, or beside an adapter with peft."""
    head = resolved_head(model)
    state = {ours: _value_of(model, ours) for ours in head_rules(head)}
    tensors = {name: x for ours, rule in head_rules(head).items() for name, x in rule.save(state[ours].cpu()).items()}
    with writing(folder / TENSORS) as file:
        save_file(tensors, file.name, metadata={"format": "pt"})
    context = getattr(model.head, "context", None) or model.spec.context
    fields = {name: getattr(head, name) for name in _FIELDS}
    write_json(folder / CONFIG, {"cutaway_head": FORMAT} | fields | {"labels": list(head.labels), "context": context})
    write_text(folder / README, readme(model, head, context, of_adapter))


def _value_of(model: nn.Module, path: str) -> Tensor:
    """A parameter of a head; of a layer with LoRA, the weight that it computes with."""
    owner, _, name = path.rpartition(".")
    layer: Any = model.get_submodule(owner)
    if name == "weight" and hasattr(layer, "merged_weight"):
        return layer.merged_weight().to(layer.base.weight.dtype)
    return (getattr(layer, "base", layer)).get_parameter(name).detach()


def resolved_head(model: Any) -> HeadSpec:
    """The head's spec, with the pooling that it has by default spelled out."""
    head: HeadSpec = model.spec.head
    return head if head.kind == "tags" else head.but(pooling=model.head.pooling)


def read_head(folder: Path) -> tuple[HeadSpec, dict[str, Tensor], int] | None:
    """The head beside a body, its tensors by our names, and the tokens of a text that it reads; None without one."""
    path = folder / CONFIG
    config = read_json(path) if path.is_file() else {}
    if "cutaway_head" not in config:  # another program's
        return None
    if config["cutaway_head"] != FORMAT:
        raise ValueError(
            f"this Cutaway reads heads of format {FORMAT}, got {config['cutaway_head']} in {path}; upgrade cutaway"
        )
    fields = {name: config[name] for name in _FIELDS if name in config}
    if not isinstance(fields.get("labels", []), list) or not isinstance(config.get("context"), int):
        raise ValueError(f"{CONFIG} must have a list of labels and a context, got {path} without; take it from a copy")
    try:
        head = HeadSpec(**fields | {"labels": tuple(fields.get("labels", ()))})
    except (ValueError, TypeError) as error:
        raise ValueError(f"{CONFIG} must describe a head, got {path} ({error}); take it from a copy") from None
    if not (folder / TENSORS).is_file():
        raise ValueError(f"a head needs its {TENSORS}, got {folder} without one; take it from a copy")
    try:
        stored = load_file(folder / TENSORS)
    except SafetensorError as error:
        raise ValueError(f"a head needs safetensors, got {folder / TENSORS} ({error}); take it from a copy") from None
    rules = head_rules(head)
    wanted = {name for rule in rules.values() for name in rule.theirs}
    if wanted != set(stored):
        raise ValueError(
            f"the head of {CONFIG} has the tensors {', '.join(sorted(wanted))}, got {', '.join(sorted(stored))} in "
            f"{folder / TENSORS}; take both files from one copy"
        )
    return head, {ours: rule.load(lambda names: stored[names[0]]) for ours, rule in rules.items()}, config["context"]


def expect_head_shapes(model: nn.Module, tensors: dict[str, Tensor], folder: Path) -> None:
    """The head's tensors must be of the size that the body and its labels give them."""
    own = model.state_dict()
    for name, tensor in tensors.items():
        if own[name].shape != tensor.shape:
            raise ValueError(
                f"a head must fit the body beside it, got {name} of shape {tuple(tensor.shape)} for "
                f"{tuple(own[name].shape)} in {folder}; take all files from one copy"
            )


# ----------------------------------------------------------------------------------------------------------------------

_LINES = """\
import json

import torch
from safetensors.torch import load_file
from torch.nn.functional import linear
from transformers import AutoModel, AutoTokenizer
{imports}
folder = "."
{body}
head = load_file(f"{{folder}}/head.safetensors")
labels = json.load(open(f"{{folder}}/head.json"))["labels"]
{padding}
texts = ["a text of yours", "and another"]
inputs = tokenizer(texts, padding=True, truncation=True, max_length={context}, return_tensors="pt")
with torch.no_grad():
    states = body(**inputs, output_hidden_states=True).hidden_states
{pooled}logits = linear(vectors, head["classify.weight"]{bias})
print({answer})
"""
_BODY = """\
tokenizer = AutoTokenizer.from_pretrained(folder)
body = AutoModel.from_pretrained(folder{options}).eval()"""
_TUNED_BODY = """\
base = "..."  # the folder or the hub id of the checkpoint that the adapter was trained on
tokenizer = AutoTokenizer.from_pretrained(base)
body = PeftModel.from_pretrained(AutoModel.from_pretrained(base{options}), folder).eval()"""
_MASK = 'mask = inputs["attention_mask"][..., None].float()\n'
_POOLED = {
    "cls": "vectors = states[-1][:, 0]\n",
    "last": 'last = inputs["attention_mask"].sum(1) - 1\nvectors = states[-1][range(len(texts)), last]\n',
    "mean": _MASK + "vectors = (states[-1] * mask).sum(1) / mask.sum(1)\n",
    "layers": _MASK + "vectors = torch.cat([(z * mask).sum(1) / mask.sum(1) for z in states], dim=1)\n",
    "attention": 'scores = linear(states[-1], head["pool.weight"])[..., 0]\n'
    'weights = scores.masked_fill(inputs["attention_mask"] == 0, -torch.inf).softmax(1)\n'
    "vectors = (states[-1] * weights[..., None]).sum(1)\n",
}
_WORDS = {
    "cls": "the state of its first token",
    "last": "the state of its last token",
    "mean": "the mean of its tokens' states",
    "layers": "the means of its tokens' states in every layer, side by side",
    "attention": "a mean of its tokens' states, weighed by attention",
}


def readme(model: Any, head: HeadSpec, context: int, of_adapter: bool = False) -> str:
    """What the folder is, and the lines that use it."""
    tags = head.kind == "tags"
    pooled = "vectors = states[-1]\n" if tags else _POOLED[head.pooling or "cls"]
    if head.hidden:
        pooled += 'vectors = linear(vectors, head["hidden.weight"], head["hidden.bias"]).tanh()\n'
    options = ", add_pooling_layer=False" if hasattr(model.spec, "pooler") and not model.spec.pooler else ""
    lines = _LINES.format(
        imports="from peft import PeftModel\n" if of_adapter else "",
        body=(_TUNED_BODY if of_adapter else _BODY).format(options=options),
        padding=_padding(getattr(model, "tokenizer", None)),
        context=context,
        pooled=pooled,
        bias=', head["classify.bias"]' if head.bias else "",
        answer="logits.argmax(2)" if tags else "[labels[i] for i in logits.argmax(1)]" if head.labels else "logits",
    )
    read = "every token's state" if tags else f"of a text {_WORDS[head.pooling or 'cls']}"
    if of_adapter:
        return (
            f"# An adapter and a head for {head.classes} labels\n\nWritten by Cutaway. peft loads the adapter onto the "
            f"checkpoint that it was trained on. The head, a linear layer that\nreads {read}, is of no class of "
            f"transformers, so peft passes over it:\nit is in `head.safetensors` and `head.json`. With Cutaway, "
            f"`cut.load_adapter` loads both onto a model with such a head.\nWith peft:\n\n```python\n{lines}```\n"
        )
    return (
        f"# A model of text with {head.classes} labels\n\nWritten by Cutaway. The folder holds the body, which "
        f"`AutoModel` of transformers loads, and\nthe head beside it: a linear layer that reads {read}\n"
        f"(`head.safetensors`, `head.json`). With Cutaway, `cut.from_pretrained(folder)` opens both as one model.\n"
        f"With transformers alone:\n\n```python\n{lines}```\n"
    )


def _padding(tokenizer: Any) -> str:
    named = (getattr(tokenizer, "settings", None) or {}).get("pad_token")
    if named:
        return 'tokenizer.padding_side = "right"\n'
    return (
        'tokenizer.padding_side = "right"\n'
        "tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)  # any token: padding is masked\n"
    )


__all__ = ["CONFIG", "README", "TENSORS", "expect_head_shapes", "read_head", "write_head"]
