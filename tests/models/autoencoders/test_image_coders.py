"""Encoders and decoders of images: shapes of any size, mirrored designs, and what they refuse."""

import pytest
import torch

from cutaway.models.autoencoders.autoencoder import AutoencoderSpec
from cutaway.models.autoencoders.image_coders import ImageDecoder, ImageEncoder, pad_to_multiple


@pytest.mark.parametrize("design", ["linear", "dense", "conv"])
@pytest.mark.parametrize(("image", "channels"), [((8, 8), 1), ((7, 13), 3), ((1, 2), 1)])
def test_any_size_goes_in_and_comes_out(design: str, image: tuple[int, int], channels: int):
    spec = AutoencoderSpec(image=image, channels=channels, design=design, width=4, depth=2)
    x = torch.rand(3, channels, *image)
    features = ImageEncoder(spec)(x)
    assert features.shape == (3, spec.features)
    assert ImageDecoder(spec, 5)(torch.randn(3, 5)).shape == x.shape


def test_a_linear_encoder_gives_the_pixels_and_its_decoder_is_one_map():
    spec = AutoencoderSpec(image=(2, 3), design="linear")
    x = torch.rand(4, 1, 2, 3)
    assert torch.equal(ImageEncoder(spec)(x), x.flatten(1))
    decoder, z = ImageDecoder(spec, 2), torch.randn(4, 2)
    torch.testing.assert_close(decoder(z).flatten(1), z @ decoder.out.weight + decoder.out.bias)


def test_padding_repeats_the_border():
    x = torch.arange(6.0).view(1, 1, 2, 3)
    found = pad_to_multiple(x, 4)
    assert found.shape == (1, 1, 4, 4)
    assert found[0, 0, :, -1].tolist() == [2, 5, 5, 5]
    assert pad_to_multiple(found, 4) is found


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    encoder = ImageEncoder(AutoencoderSpec(image=(8, 8)))
    with pytest.raises(ValueError, match=r"images must have shape \(batch, 1, 8, 8\), got \(3, 1, 8, 7\)"):
        encoder(torch.rand(3, 1, 8, 7))
    with pytest.raises(ValueError, match=r"images must be floats from 0 to 1, got torch.uint8"):
        encoder(torch.zeros(3, 1, 8, 8, dtype=torch.uint8))
    with pytest.raises(ValueError, match="design must be one of linear, dense, conv, got 'deep'"):
        AutoencoderSpec(image=(8, 8), design="deep")
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        AutoencoderSpec(image=(8, 8), width=0)
