r"""`UNet` is the network that looks at a noisy image: down to coarse and back up to fine, with shortcuts across.

    h = conv(unshuffle(x))                                   squares of pixels become channels
    h ← residual(h, c);  keep h;  h ← down(h)                at every stage but the last: sides halved, channels doubled
    h ← residual(h, c)                                       in the middle
    h ← residual([up(h), kept h], c)                         back up, beside what was kept on the way down
    y = shuffle(conv(φ(norm(h))))

c is the condition: the level of noise, and the class. Ronneberger, Fischer, Brox 2015; Ho, Jain, Abbeel 2020; the
shuffling of pixels: Hoogeboom et al. 2023. Sides that cannot be halved as often are padded, and the result is cut.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.convolution.grids import Conv2d
from cutaway.blocks.convolution.pixel_shuffles import pixel_shuffle, pixel_unshuffle
from cutaway.blocks.generative.conditioned_residual import ConditionedResidual, channel_norm
from cutaway.inside.taps import Tap
from cutaway.models.autoencoders.image_coders import pad_to_multiple
from cutaway.overriding import override


class UNet(nn.Module):
    r"""Images and a condition to images of the same shape.

        y = up(middle(down(x, c), c), c), with shortcuts from each stage down to the same stage up

    ``width`` channels at the first of ``stages``, twice as many at each next one, ``depth`` residual blocks at each on
    either way and in the middle; ``shuffle`` is the side of the squares of pixels that become channels. It starts at 0.
    Tap: ``middle`` (the coarsest values).
    """

    def __init__(
        self, channels: int, width: int, depth: int = 1, stages: int = 2, shuffle: int = 2, condition: int = 128
    ) -> None:
        super().__init__()
        expect_positive(channels=channels, width=width, depth=depth, stages=stages, shuffle=shuffle)
        self.shuffle, self.stages = shuffle, stages
        widths = [width * 2**i for i in range(stages)]

        def blocks(inputs: int, outputs: int) -> nn.ModuleList:
            sizes = [inputs, *[outputs] * (depth - 1)]
            return nn.ModuleList(ConditionedResidual(size, outputs, condition) for size in sizes)

        self.start = Conv2d(channels * shuffle**2, width)
        self.down_blocks = nn.ModuleList(blocks(w, w) for w in widths[:-1])
        self.downs = nn.ModuleList(Conv2d(4 * w, 2 * w, kernel=1) for w in widths[:-1])
        self.middle_blocks = blocks(widths[-1], widths[-1])
        self.middle = Tap()
        self.ups = nn.ModuleList(Conv2d(2 * w, 4 * w, kernel=1) for w in widths[:-1])
        self.up_blocks = nn.ModuleList(blocks(2 * w, w) for w in widths[:-1])
        self.norm = channel_norm(width)
        self.out = Conv2d(width, channels * shuffle**2)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.out.weight)
        assert self.out.bias is not None
        nn.init.zeros_(self.out.bias)

    @override
    def forward(self, x: Float[Tensor, "b c h w"], condition: Float[Tensor, "b e"]) -> Float[Tensor, "b c h w"]:
        height, width = x.shape[-2:]
        x = pixel_unshuffle(pad_to_multiple(x, self.shuffle * 2 ** (self.stages - 1)), self.shuffle)
        h = self.start(_side_by_side(x))
        kept = []
        for blocks, down in zip(self.down_blocks, self.downs, strict=True):
            h = _run(blocks, h, condition)
            kept.append(h)
            h = down(_side_by_side(pixel_unshuffle(h, 2)))
        h = _run(self.middle_blocks, h, condition)
        if self.middle.live:
            h = self.middle(h)
        for blocks, up in zip(reversed(self.up_blocks), reversed(self.ups), strict=True):
            h = torch.cat([_side_by_side(pixel_shuffle(up(h), 2)), kept.pop()], dim=1)
            h = _run(blocks, h, condition)
        y = pixel_shuffle(self.out(nn.functional.silu(self.norm(h))), self.shuffle)
        return y[..., :height, :width]


def _side_by_side(x: Tensor) -> Tensor:
    """The same values with the channels of a pixel side by side in memory: convolved faster, on CPUs as on GPUs."""
    return x.contiguous(memory_format=torch.channels_last)


def _run(blocks: nn.Module, h: Tensor, condition: Tensor) -> Tensor:
    for block in blocks.children():
        h = block(h, condition)
    return h
