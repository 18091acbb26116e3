"""MaskedViT: its encoder is a ViT that sees the visible patches alone; its decoder fills in the others."""

import pytest
import torch

from cutaway.blocks.embeddings.hidden_patches import choose_visible
from cutaway.models import MaskedViT, MaskedViTSpec, ViT, ViTSpec, from_spec, spec_from_dict


def spec(**more: object) -> MaskedViTSpec:
    encoder = ViTSpec.vit(image=(6, 8), patch=2, channels=3, width=8, depth=2, heads=2)
    return MaskedViTSpec(encoder, **{"width": 12, "depth": 1, "heads": 3} | more)  # type: ignore[arg-type]


def model(**more: object) -> MaskedViT:
    torch.manual_seed(0)
    return MaskedViT(spec(**more)).double().eval()


def images(count: int = 2) -> torch.Tensor:
    return torch.rand(count, 3, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_shapes_and_spec():
    net, x = model(), images()
    visible = choose_visible(2, 12, 0.75)
    assert net(x, visible).shape == (2, 12, 12)
    assert net.encode(x, visible).shape == (2, 4, 8)
    assert net.represent(x).shape == (2, 8)
    again = spec_from_dict(net.spec.to_dict())
    assert again == net.spec
    assert isinstance(from_spec(again), MaskedViT)


def test_hidden_patches_are_not_seen():
    """What is hidden may change as it likes: neither the encoder nor what is filled in moves by a bit."""
    net, x = model(), images()
    visible = torch.tensor([[0, 5, 7], [1, 2, 11]])
    other = net.as_images(torch.rand(2, 12, 12, dtype=torch.float64))
    hidden = torch.ones(2, 12, dtype=torch.bool).scatter(1, visible, False)
    mixed = torch.where(net.as_images(hidden[:, :, None].expand(-1, -1, 12).double()) > 0, other, x)
    assert torch.equal(net(x, visible), net(mixed, visible))
    assert not torch.equal(net(x, visible), net(mixed, torch.tensor([[0, 1, 2], [0, 3, 4]])))


def test_with_all_visible_the_encoder_is_a_vit():
    net, x = model(), images()
    assert isinstance(net.encoder, ViT)
    everything = torch.arange(12).expand(2, -1)
    torch.testing.assert_close(net.encode(x, everything), net.encoder(x))
    torch.testing.assert_close(net(x), net(x, everything))


def test_the_order_of_the_visible_does_not_matter():
    net, x = model(), images()
    torch.testing.assert_close(net(x, torch.tensor([[3, 9]] * 2)), net(x, torch.tensor([[9, 3]] * 2)))


def test_filled_images_keep_what_is_visible():
    net, x = model(), images()
    visible = choose_visible(2, 12, 0.5)
    seen = torch.zeros(2, 12, 12).scatter(1, visible[:, :, None].expand(-1, -1, 12), 1.0).double()
    kept = net.as_images(seen) > 0
    for one in (net, model(standardised=True)):
        filled = one.fill(x, visible)
        assert torch.equal(filled[kept], x[kept])
        assert not torch.equal(filled[~kept], x[~kept])


def test_labels_come_onto_the_encoder():
    net, x = model(), images()
    tuned = net.with_labels(["cat", "dog"])
    assert isinstance(tuned, ViT)
    assert tuned.spec.head is not None
    assert (tuned.spec.head.labels, tuned.spec.head.pooling) == (("cat", "dog"), "mean")
    assert tuned(x).shape == (2, 2)
    assert tuned.blocks[0].attention.out.weight is net.encoder.blocks[0].attention.out.weight or torch.equal(
        tuned.patches.map.weight, net.encoder.patches.map.weight
    )
    assert net.with_labels(["a", "b"], pooling="cls").spec.head.pooling == "cls"  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="gives an image one class, got each='token'"):
        net.with_labels(["a", "b"], each="token")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"heads": 5}, "width must be a multiple of heads, got width=12, heads=5 for the decoder; try width=10"),
        ({"depth": 0}, "depth must be"),
    ],
)
def test_specs_that_cannot_be(settings: dict[str, int], told: str):
    with pytest.raises(ValueError, match=told):
        spec(**settings)


def test_an_encoder_has_no_head():
    with pytest.raises(ValueError, match="has no head, got one; build its spec with classes=None"):
        MaskedViTSpec(ViTSpec.vit(image=4, patch=2, width=8, depth=1, heads=2, classes=3))
