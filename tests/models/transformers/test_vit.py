"""ViT: patches, CLS, positions."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import ViT, ViTSpec

SPEC = ViTSpec.vit(image=(8, 12), patch=4, width=12, depth=2, heads=3, classes=5, channels=2)


def build(spec: ViTSpec = SPEC) -> ViT:
    torch.manual_seed(0)
    model = ViT(spec).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


IMAGES = torch.randn(3, 2, 8, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_shapes():
    assert build()(IMAGES).shape == (3, 5)
    assert build(SPEC.but(head=None))(IMAGES).shape == (3, 7, 12)  # CLS and 2 × 3 patches


def test_what_enters_the_first_layer():
    """CLS and the patches row by row, by a convolution whose stride is its size; then positions."""
    model = build()
    with cut.trace(model, "blocks.0.before") as seen:
        model(IMAGES)
    filters = model.patches.map.weight.T.reshape(12, 2, 4, 4)
    patches = nn.functional.conv2d(IMAGES, filters, model.patches.map.bias, stride=4).flatten(2).mT
    x = torch.cat([model.cls.expand(3, -1, -1), patches], 1) + model.position.weight
    torch.testing.assert_close(seen["blocks.0.before"], x)


def test_logits_are_read_from_cls():
    model = build()
    z = model.encode(IMAGES)
    torch.testing.assert_close(model(IMAGES), z[:, 0] @ model.head.classify.weight + model.head.classify.bias)


def test_images_of_a_batch_do_not_meet():
    model = build()
    torch.testing.assert_close(model(IMAGES)[1:2], model(IMAGES[1:2]))


def test_without_positions_patches_have_no_order():
    """Swapping two patches then leaves the logits as they are; with positions it does not."""
    model = build()
    swapped = IMAGES.clone()
    swapped[..., :4, :4], swapped[..., 4:, 8:] = IMAGES[..., 4:, 8:], IMAGES[..., :4, :4]
    assert not torch.allclose(model(IMAGES), model(swapped))
    nn.init.zeros_(model.position.weight)
    torch.testing.assert_close(model(IMAGES), model(swapped))


@pytest.mark.parametrize("order", ["pre", "post", "parallel"])
def test_orders(order: str):
    model = build(SPEC.but(order=order))
    model(IMAGES).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_pooler():
    model = build(SPEC.but(head=None, pooler=True))
    z = model(IMAGES)
    torch.testing.assert_close(model.pool(z), model.pooler(z[:, 0]))
    with pytest.raises(ValueError, match=r"this model has no pooler; use z\[:, 0\]"):
        build().pool(z)


def test_checkpointing_gives_the_same_gradients():
    model = build()
    again = ViT(SPEC.but(checkpointing=True)).double()
    again.load_state_dict(model.state_dict())
    for one in (model, again):
        one(IMAGES).square().mean().backward()
    for p, q in zip(model.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


@pytest.mark.untyped
def test_messages():
    model = build()
    with pytest.raises(ValueError, match=r"images must be 8 × 12 pixels, got \(12, 8\); resize them"):
        model(IMAGES.mT)
    with pytest.raises(ValueError, match=r"\(batch, channels, height, width\), got \(2, 8, 12\); for one image"):
        model(IMAGES[0])
    with pytest.raises(ValueError, match=r"images must have shape \(..., 2, height, width\), got \(3, 1, 8, 12\)"):
        model(IMAGES[:, :1])


def test_its_own_scale_can_be_folded_into_the_patches():
    model = build(SPEC.but(scaled=True))
    model.scale.fit(torch.tensor([0.2, 0.5]), torch.tensor([0.3, 0.1]))
    folded = model.without_scale()
    assert folded.scale is None
    torch.testing.assert_close(folded(IMAGES), model(IMAGES))
    plain = build()
    assert plain.without_scale() is plain
