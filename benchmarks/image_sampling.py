"""Sampling of `Diffusion` beside diffusers: 64 images of 28 × 28 in 25 steps, each of a class; and single steps.

Both U-Nets see 14 × 14 places of 4 channels (pixels unshuffled), then 7 × 7, with 32 and 64 channels, group norms and a
class. The two cannot be the same: diffusers' (one layer a block) has wider residual blocks on the way up, ours has more
of them, so that a pass of either takes about as many multiply-adds, which are counted and shown.
diffusers wants an environment of its own: run this with its Python.
"""

from importlib.util import find_spec
from itertools import pairwise

import torch
from timing import compare, show
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from cutaway.blocks import Level, ddim_step, ddpm_posterior, denoise, euler_step, from_betas, linear_betas
from cutaway.models import Diffusion

IMAGES, STEPS = 64, 25
DEPTH = 4  # residual blocks a stage, so that a pass takes as many multiply-adds as diffusers'


def main() -> None:
    if find_spec("diffusers") is None:
        print("image_sampling: needs diffusers, which is not installed here; run it with a Python that has it")
        return
    import diffusers

    torch.manual_seed(0)
    model = Diffusion(image=(28, 28), classes=10, width=32, depth=DEPTH).eval()
    peer = diffusers.UNet2DModel(
        sample_size=14,
        in_channels=4,
        out_channels=4,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
        layers_per_block=1,
        norm_num_groups=8,
        add_attention=False,
        num_class_embeds=11,
    ).eval()
    labels = torch.arange(IMAGES) % 10

    def ours() -> Tensor:
        return model.sample(IMAGES, labels, guidance=1.0, steps=STEPS, generator=torch.Generator().manual_seed(0))

    @torch.no_grad()
    def theirs() -> Tensor:
        scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
        scheduler.set_timesteps(STEPS)
        x = torch.randn(IMAGES, 4, 14, 14, generator=torch.Generator().manual_seed(0))
        for t in scheduler.timesteps:
            x = scheduler.step(peer(x, t, class_labels=labels).sample, t, x).prev_sample
        return nn.functional.pixel_shuffle(x, 2)

    x, time = torch.randn(IMAGES, 1, 28, 28), torch.full((IMAGES,), 0.5)
    passes = {
        "ours": lambda: model(x, time, labels),
        "diffusers": lambda: peer(nn.functional.pixel_unshuffle(x, 2), 500, class_labels=labels).sample,
    }
    sizes = {name: sum(p.numel() for p in net.parameters()) for name, net in (("ours", model), ("diffusers", peer))}
    seconds = compare({"ours": ours, "diffusers": theirs}, repeats=5)
    rows = [
        (
            name,
            f"{seconds[name]:.3f} s, {sizes[name]:,} weights, {_flops(work) / IMAGES / 2e6:.1f} M multiply-adds",
        )
        for name, work in passes.items()
    ]
    rows.append(("ratio", f"{seconds['diffusers'] / seconds['ours']:.2f} times the speed of diffusers"))
    show(f"image_sampling: {IMAGES} images in {STEPS} steps, diffusers {diffusers.__version__}", rows)
    show("image_sampling: largest difference of one step to diffusers' schedulers", _differences(diffusers))


def _flops(work) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def _differences(diffusers) -> list[tuple[str, str]]:
    """Our steps beside those of diffusers, from the same x_t and prediction."""
    torch.manual_seed(0)
    x, prediction = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)
    signal, noise = (part.tolist() for part in from_betas(linear_betas()))
    level = lambda t: Level(signal[t], noise[t])
    rows = []
    for kind, target in (("epsilon", "noise"), ("v_prediction", "velocity")):
        ddim = diffusers.DDIMScheduler(clip_sample=False, prediction_type=kind, set_alpha_to_one=True)
        ddim.set_timesteps(STEPS)
        t = int(ddim.timesteps[7])  # level t + 1 of ours: level 0 is the image itself
        found = denoise(target, prediction, x, *level(t + 1))
        ours = ddim_step(*found, level(t + 1 - 1000 // STEPS))
        rows.append((f"DDIM, {target}", f"{(ours - ddim.step(prediction, t, x).prev_sample).abs().max():.1e}"))
        ddpm = diffusers.DDPMScheduler(clip_sample=False, prediction_type=kind)
        torch.manual_seed(1)
        theirs = ddpm.step(prediction, 500, x).prev_sample
        torch.manual_seed(1)
        mean, variance = ddpm_posterior(x, denoise(target, prediction, x, *level(501)).image, level(501), level(500))
        ours = mean + variance**0.5 * torch.randn(x.shape)
        rows.append((f"DDPM, {target}", f"{(ours - theirs).abs().max():.1e}"))
    euler = diffusers.FlowMatchEulerDiscreteScheduler()
    euler.set_timesteps(STEPS)
    now, then = (Level(1 - float(s), float(s)) for s in next(pairwise(euler.sigmas[7:])))
    euler.set_begin_index(7)
    theirs = euler.step(prediction, euler.timesteps[7], x).prev_sample
    rows.append(("Euler, flow", f"{(euler_step(x, prediction, now, then) - theirs).abs().max():.1e}"))
    return rows


if __name__ == "__main__":
    main()
