"""The autoencoder: a linear one spans the principal subspace, a binary one has as many images as codes."""

import json

import pytest
import torch

from cutaway.models import Autoencoder, AutoencoderSpec, from_spec, spec_from_dict


def test_the_minimum_of_a_linear_autoencoder_spans_the_principal_subspace():
    """Trained to its end in float64 on correlated pixels: principal angles to PCA's subspace, and its error."""
    torch.manual_seed(0)
    x = (torch.randn(200, 4) * torch.tensor([4.0, 3.0, 1.0, 0.5])) @ torch.randn(4, 6)
    x = x.double().view(-1, 1, 2, 3)
    model = Autoencoder(image=(2, 3), design="linear", codes=2).double()
    model.start(x)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (model(x) - x).square().sum(dim=(1, 2, 3)).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    centred = (x - x.mean(0)).flatten(1)
    _, values, rows = torch.linalg.svd(centred, full_matrices=False)
    span, _ = torch.linalg.qr(model.decoder.out.weight.T)
    cosines = torch.linalg.svdvals(span.T @ rows[:2].T)
    torch.testing.assert_close(cosines, torch.ones(2).double(), atol=1e-4, rtol=0)
    torch.testing.assert_close(closure().detach(), values[2:].square().sum() / len(x), rtol=1e-3, atol=0)


def test_a_binary_code_knows_no_more_images_than_codes():
    torch.manual_seed(0)
    model = Autoencoder(image=(4, 4), width=8, codes=2, code="binary")
    x = torch.rand(50, 1, 4, 4)
    model.start(x)
    codes = model.encode(x)
    assert set(codes.unique().tolist()) <= {0.0, 1.0}
    assert len(model(x).flatten(1).detach().mul(1e4).round().unique(dim=0)) <= 4
    assert 0.2 < codes.mean() < 0.8  # borders lie among the images


def test_the_mean_image_is_taken_off_and_added():
    model = Autoencoder(image=(2, 3), design="linear", codes=1)
    x = torch.rand(5, 1, 2, 3)
    model.start(x)
    torch.testing.assert_close(model.mean, x.mean(0))
    torch.testing.assert_close(model(x), model.decode(model.encode(x)))


def test_a_spec_goes_through_json():
    model = Autoencoder(image=(7, 5), channels=3, design="conv", width=4, codes=6)
    spec = spec_from_dict(json.loads(json.dumps(model.spec.to_dict())))
    assert spec == model.spec
    again = from_spec(spec)
    again.load_state_dict(model.state_dict())
    x = torch.rand(2, 3, 7, 5)
    assert torch.equal(again(x), model(x))


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"the last axis of codes must have width 32, got shape \(2, 5\)"):
        Autoencoder(image=(4, 4)).decode(torch.zeros(2, 5))
    with pytest.raises(ValueError, match="code must be one of real, binary, got 'ternary'"):
        AutoencoderSpec(image=(4, 4), code="ternary")
