"""CodeClassifier: its code is that of the autoencoder or VAE that it comes from, whatever the design."""

from typing import Any

import pytest
import torch

from cutaway.models import VAE, Autoencoder, CodeClassifier, from_spec, spec_from_dict

SIZES: dict[str, Any] = dict(image=(8, 8), channels=2, width=6, depth=1)


@pytest.mark.parametrize("design", ["linear", "dense", "conv"])
@pytest.mark.parametrize("kind", ["autoencoder", "binary", "vae"])
def test_the_code_stays(kind: str, design: str):
    torch.manual_seed(0)
    x = torch.rand(5, 2, 8, 8)
    base: Any
    if kind == "vae":
        base = VAE(design=design, latents=3, **SIZES)
    else:
        base = Autoencoder(design=design, codes=3, code="binary" if kind == "binary" else "real", **SIZES)
        base.start(x)
    model = base.eval().with_labels(["a", "b", "c", "d"])
    assert isinstance(model, CodeClassifier)
    assert torch.equal(model.eval().represent(x), base.encode(x))
    assert model(x).shape == (5, 4)
    again = model.with_labels(["x", "y"])
    assert torch.equal(again.eval().represent(x), base.encode(x))
    assert again(x).shape == (5, 2)
    spec = spec_from_dict(model.spec.to_dict())
    assert spec == model.spec
    assert isinstance(from_spec(spec), CodeClassifier)


def test_one_code_an_image():
    base = Autoencoder(codes=3, **SIZES)
    with pytest.raises(ValueError, match="gives an image one code, got each='token', pooling=None; leave both out"):
        base.with_labels(["a", "b"], each="token")
