"""Quality of `vae` and `diffusion` on MNIST; samples are judged by a network that no training here has seen.

The VAE's test ELBO (10 draws) and 100-sample importance bound are of the test set binarised once, with seed 0. Samples
of diffusion, 200 of each class, by guidance and steps: the share that the judge (a small CNN of the ONNX model zoo,
98.91 % on the test set) takes for their class; the Fréchet distance of its 256 last features to those of the test set,
as a multiple of that of 2,000 training images; the median distance to the nearest training image beside that of test
images, over pixels; and the spread within a class beside that of training images.

    python benchmarks/generative.py                     trains both, about 10 and 15 minutes of one quiet core
    python benchmarks/generative.py RUN …               takes runs that are there
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d

import cutaway as cut
from cutaway.blocks import frechet_distance

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETTINGS = {
    "vae": dict(steps=10_000, rate=3e-3, ema=0.999, evaluate_every=1000),
    "diffusion": dict(steps=8000, batch=64, ema=0.999, evaluate_every=4000),
}
GRID = ((1.5, 25), (1.0, 25), (2.0, 25), (3.0, 25), (1.5, 10), (1.5, 5))
EACH = 200  # samples of a class


def judge(images: Tensor) -> tuple[Tensor, Tensor]:
    """The 256 last features and the logits of images with pixels from 0 to 1."""
    w = load_file(DATA / "weights" / "mnist_cnn" / "model.safetensors")
    found = []
    for x in images.split(1000):
        h = max_pool2d(conv2d(x * 255, w["conv1.weight"], w["conv1.bias"], padding=2).relu(), 2)
        found.append(max_pool2d(conv2d(h, w["conv2.weight"], w["conv2.bias"], padding=2).relu(), 3).flatten(1))
    features = torch.cat(found)
    return features, features @ w["out.weight"] + w["out.bias"]


def main() -> None:
    if not (DATA / "images" / "mnist").is_dir():
        print(f"generative: needs MNIST, which is not in {DATA}; set CUTAWAY_DATA")
        return
    given = [Path(argument) for argument in sys.argv[1:] if Path(argument).is_dir()]
    runs = [cut.load(path) for path in given] or [trained(name) for name in SETTINGS]
    for run in runs:
        {"vae": report_vae, "diffusion": report_samples}[run.recipe.name](run)


def trained(name: str):
    started = time.process_time()
    out = Path(tempfile.mkdtemp()) / name
    run = cut.train(name, data=str(DATA / "images" / "mnist"), out=out, **SETTINGS[name])
    print(f"generative {name}: {time.process_time() - started:.0f} s of processor time, {out}")
    return run


def report_vae(run) -> None:
    found = run.test()
    print(
        f"generative vae: test ELBO {-found['loss']:.2f} nats (KL {found['kl']:.2f}), importance bound "
        f"{found['importance_bound_100']:.2f}; each pixel alone {-found['baseline_loss']:.1f}"
    )
    report_samples(run)


def report_samples(run) -> None:
    data = run.task.parts
    train, test = data.train, data.open_test()
    real = torch.from_numpy(test.pixels()).float() / 255
    known = torch.from_numpy(train.pixels()).float() / 255
    goal = judge(real)[0]
    unit = frechet_distance(judge(known[:2000])[0], goal).item()
    least = nearest(real[:2000], known)
    labels = [str(i % 10) for i in range(10 * EACH)]
    spread = within(known[: 10 * EACH], train.targets[: 10 * EACH])
    print(f"2,000 training images: Fréchet {unit:.3f}; test images to the nearest training image {least:.2f}")
    for guidance, steps in GRID if run.learner.in_steps else ((None, None),):
        made = run.sample(len(labels), labels, guidance, steps)
        features, logits = judge(made)
        right = (logits.argmax(1) == torch.tensor([int(label) for label in labels])).float().mean().item()
        own = within(made, np.array(labels, int))
        print(
            f"generative {run.recipe.name}, guidance {guidance}, {steps} steps: recognised {right:.2%}, Fréchet "
            f"{frechet_distance(features, goal).item() / unit:.2f} times, nearest training image "
            f"{nearest(made, known):.2f} (test {least:.2f}), spread within a class {own:.2f} (data {spread:.2f})",
            flush=True,
        )


def nearest(images: Tensor, known: Tensor) -> float:
    """The median distance to the nearest training image, over pixels."""
    y = known.flatten(1)
    squares = y.square().sum(1)
    found = [(squares - 2 * x @ y.T).amin(1) + x.square().sum(1) for x in images.flatten(1).split(250)]
    return torch.cat(found).clamp(min=0).sqrt().median().item()


def within(images: Tensor, classes: np.ndarray) -> float:
    """The mean distance of two images of one class, over pixels."""
    x = images.flatten(1)
    return float(np.mean([torch.pdist(x[torch.from_numpy(classes == c)]).mean().item() for c in np.unique(classes)]))


if __name__ == "__main__":
    main()
