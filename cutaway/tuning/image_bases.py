r"""Models of images as bases: the shape of their images, the scale of their pixels, and heads with the same labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from cutaway.atomic_files import parse_json

if TYPE_CHECKING:
    from cutaway.tuning.bases import Base

IMAGES, PREPROCESSOR = "images.json", "preprocessor_config.json"
_HALF = 0.5  # mean and spread of the pixels of ViT's checkpoints, unless they say others


def base_shape(base: "Base") -> tuple[int, tuple[int, int]]:
    """Channels, and height and width, of the images that a base was trained on."""
    spec = base.model.spec
    path = base.file(IMAGES)
    if path is not None:
        channels, height, width = parse_json(path.read_text(encoding="utf-8"))["shape"]
        return int(channels), (int(height), int(width))
    return spec.channels, tuple(spec.image)


def with_scale(base: "Base") -> Any:
    """The model of a base, given pixels from 0 to 1: a checkpoint's brings them to its own scale from then on."""
    model = base.model
    if base.about or getattr(model, "scale", None) is not None or not hasattr(model.spec, "scaled"):
        return model
    mean, spread = checkpoint_scale(base)
    scaled = type(model).from_spec(model.spec.but(scaled=True))
    scaled.load_state_dict(model.state_dict(), strict=False, assign=True)
    scaled.scale.fit(mean, spread)
    return scaled.eval()


def checkpoint_scale(base: "Base") -> tuple[torch.Tensor, torch.Tensor]:
    """The mean and spread that a checkpoint's preprocessor_config.json says."""
    channels = base.model.spec.channels
    path = base.file(PREPROCESSOR)
    told = {} if path is None else parse_json(path.read_text(encoding="utf-8"))
    found = [told.get(name) or [_HALF] * channels for name in ("image_mean", "image_std")]
    if told.get("do_normalize") is False:
        found = [[0.0] * channels, [1.0] * channels]
    wrong = [values for values in found if len(values) != channels]
    if wrong:
        raise ValueError(
            f"{PREPROCESSOR} must have a mean and a spread for each of {channels} channels, got {wrong[0]}; mend it"
        )
    return torch.tensor(found[0]), torch.tensor(found[1])


def keep_head(base: "Base", model: Any, labels: Sequence[str], pooling: str | None) -> Any:
    """The model as it is, if its head has these labels in this order; None if it needs another, or has none."""
    if getattr(model, "head", None) is None:
        return None  # pretrained without labels
    path = base.file(IMAGES)
    head = getattr(model.spec, "head", None)
    known = list(getattr(head, "labels", ()))
    if path is not None:
        known = parse_json(path.read_text(encoding="utf-8"))["labels"]
    return model if list(labels) == list(known) and pooling in (None, getattr(head, "pooling", None)) else None


__all__ = ["base_shape", "checkpoint_scale", "keep_head", "with_scale"]
