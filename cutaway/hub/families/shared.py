r"""What the families of checkpoints have in common: `Family`, and how to read their configurations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutaway.hub.families.config_fields import Config, architecture, label_names
from cutaway.hub.tensor_rules import Rules
from cutaway.models.specs.architectures import HeadSpec, ModelSpec

# Their names of activations, and ours. The first of several for one of ours is written.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu_squared",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
WRITTEN = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}


@dataclass(frozen=True)
class Family:
    """One architecture of checkpoints.

    ``types`` are its names in a configuration, ``architectures`` the classes that we can load (the first if none is
    named). ``prefix`` stands before the trunk's tensors in models that have a head. ``spec`` makes a spec of a
    configuration and the names of the tensors, ``config`` a configuration of a spec, ``rules`` say how our tensors are
    made of theirs. ``ignored`` are patterns of their tensors that are copies, buffers, or of heads that we do not have.
    ``modules`` are patterns of stored names and what transformers 5 calls their modules, where it calls them otherwise.
    """

    name: str
    types: tuple[str, ...]
    architectures: tuple[str, ...]
    prefix: str
    design: type[ModelSpec]
    spec: Callable[[Config, set[str]], ModelSpec]
    config: Callable[[Any], Config]
    rules: Callable[[Any, str], Rules]
    ignored: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()

    def architecture(self, config: Config) -> str:
        """The class that a configuration names."""
        return architecture(config, self.architectures, self.name)


def activation(name: str) -> str:
    """Our name of their activation."""
    if name not in ACTIVATIONS:
        raise ValueError(f"the activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}; Cutaway has no such")
    return ACTIVATIONS[name]


def written(name: str) -> str:
    """Their name of our activation; ours where they have none, which reading it back refuses."""
    return WRITTEN.get(name, name)


def head_kind(spec: ModelSpec) -> str | None:
    return None if spec.head is None else spec.head.kind


def refuse(config: Config, **expected: Any) -> None:
    """Stops at options that would silently change the logits."""
    for key, value in expected.items():
        if config.get(key) not in (None, value):
            raise ValueError(
                f"{key} must be {value!r} for Cutaway to load it, got {config[key]!r}; it has no such option"
            )


def class_head(kind: str, config: Config, **more: Any) -> HeadSpec:
    """A head for classes or tags, with the labels of the configuration."""
    labels = label_names(config)
    if isinstance(labels, int):
        return HeadSpec(kind, classes=labels, **more)
    plain = all(label == f"LABEL_{i}" for i, label in enumerate(labels))
    return HeadSpec(kind, classes=len(labels), labels=() if plain else labels, **more)


def label_config(head: HeadSpec | None) -> Config:
    """The labels of a head as a configuration has them."""
    if head is None or head.classes is None:
        return {}
    labels = head.labels or tuple(f"LABEL_{i}" for i in range(head.classes))
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }


def end_config(end: tuple[int, ...]) -> Config:
    return {"eos_token_id": None if not end else end[0] if len(end) == 1 else list(end)}
