"""ContrastiveEncoder: either encoder, the projection on top, and labels on the encoder afterwards."""

from typing import Any

import pytest
import torch

from cutaway.models import CNN, CNNSpec, ContrastiveEncoder, ContrastiveSpec, ViT, ViTSpec, from_spec, spec_from_dict

CNN_SPEC = CNNSpec(classes=0, channels=2, width=6)
VIT_SPEC = ViTSpec.vit(image=8, patch=4, channels=2, width=6, depth=1, heads=2)


@pytest.mark.parametrize(("part", "kind", "width"), [("cnn", CNN, 12), ("vit", ViT, 6)])
def test_either_encoder(part: str, kind: type, width: int):
    spec = ContrastiveSpec(**{part: CNN_SPEC if part == "cnn" else VIT_SPEC}, hidden=7, projected=5)  # type: ignore[arg-type]
    net = ContrastiveEncoder(spec).eval()
    x = torch.rand(3, 2, 8, 8)
    assert isinstance(net.encoder, kind)
    assert net(x).shape == (3, 5)
    h = net.represent(x)
    assert h.shape == (3, width)
    torch.testing.assert_close(net(x), net.project(h))
    again = spec_from_dict(spec.to_dict())
    assert again == spec
    assert isinstance(from_spec(again), ContrastiveEncoder)


@pytest.mark.parametrize("part", ["cnn", "vit"])
def test_labels_come_onto_the_encoder(part: str):
    net = ContrastiveEncoder(ContrastiveSpec(**{part: CNN_SPEC if part == "cnn" else VIT_SPEC})).eval()  # type: ignore[arg-type]
    x = torch.rand(3, 2, 8, 8)
    tuned: Any = net.with_labels(["a", "b", "c"])
    assert tuned(x).shape == (3, 3)
    torch.testing.assert_close(tuned.eval().represent(x), net.represent(x))


def test_encoders_that_cannot_be():
    with pytest.raises(ValueError, match="has one encoder, cnn or vit, got none; give one of them"):
        ContrastiveSpec()
    with pytest.raises(ValueError, match="has one encoder, cnn or vit, got both"):
        ContrastiveSpec(CNN_SPEC, VIT_SPEC)
    with pytest.raises(ValueError, match="the encoder has no head, got one; build its spec with classes=0"):
        ContrastiveSpec(CNN_SPEC.but(classes=3))
