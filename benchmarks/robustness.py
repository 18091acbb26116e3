"""How well `cnn --preset robust` withstands attacks of 0.3 on MNIST's test images, beside a plain `cnn`.

`robustness.py` trains both (and a second robust one, to make images with), `robustness.py RUN [PLAIN [OTHER]]` takes
runs that are there. Attacks: noise, one step along the sign of the gradient (FGSM), PGD of 40 steps of 0.01 and of 20
steps of 0.1, each with 5 uniform starts, up the cross-entropy and up the margin of another class, images made with the
other models, 1,000 squares (no gradients). An image counts as robust only if it withstands every one. `--some 1000`
takes as many test images, evenly spread, else all are taken. Data: CUTAWAY_DATA, else
../shared/data. Processor seconds are those of one thread.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import cutaway as cut
from cutaway.training.attacks.attacking import attack
from cutaway.training.attacks.robustness import right_answers

EPSILON = 0.3
PLAIN: dict[str, Any] = dict(steps=300, evaluate_every=300)
OTHER: dict[str, Any] = dict(preset="robust", seed=1, steps=400, warmup=80, evaluate_every=400)


def main() -> None:
    words = sys.argv[1:]
    most = int(words[words.index("--some") + 1]) if "--some" in words else 0
    given = [word for word in words if Path(word).is_dir()]
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images" / "mnist"
    if not folder.is_dir():
        print(f"robustness: needs MNIST, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as out:
        settings = [dict(preset="robust"), PLAIN, OTHER]
        robust, plain, other = (
            cut.load(given[i]) if i < len(given) else _trained(str(folder), Path(out) / str(i), settings[i])
            for i in range(3)
        )
        x, y, shown = robust.method("labelled_inputs")(None, "test", most)
        print(f"robustness: {shown}; no pixel moves by more than {EPSILON}; right are:", flush=True)
        _measure(robust, {"a plain cnn": plain, "another robust cnn": other}, x, y)
        _fall(plain, x, y)


def _trained(data: str, out: Path, settings: dict[str, Any]) -> Any:
    start = time.process_time()
    run = cut.train("cnn", data=data, out=out, show="quiet", **settings)
    print(f"robustness: trained with {settings}: {time.process_time() - start:.0f} s of processor time", flush=True)
    return run


def _measure(run: Any, sources: dict[str, Any], x: Tensor, y: Tensor) -> None:
    """Prints the share that is right under each attack, and under all of them."""
    found = {"as they are": right_answers(run.model, x, y)}
    _say("robust cnn, as they are", found["as they are"])
    for words, kind, more in (
        ("noise", "noise", {}),
        ("FGSM", "fgsm", {}),
        ("PGD of 40 steps of 0.01, 5 starts", "pgd", dict(steps=40, step=0.01, restarts=5)),
        ("PGD of 20 steps of 0.1, 5 starts", "pgd", dict(steps=20, step=0.1, restarts=5)),
        ("margin PGD of 40 steps of 0.01, 5 starts", "margin", dict(steps=40, step=0.01, restarts=5)),
        ("margin PGD of 20 steps of 0.1, 5 starts", "margin", dict(steps=20, step=0.1, restarts=5)),
        ("1,000 squares", "square", dict(steps=1000)),
    ):
        found[words] = ~attack(run, x, y, kind, EPSILON, **more).success
        _say(f"robust cnn, {words}", found[words])
    for size in ("40 steps of 0.01", "20 steps of 0.1"):
        both = [right for words, right in found.items() if f"PGD of {size}" in words]
        _say(f"robust cnn, both PGD of {size}", torch.stack(both).all(0))
    for words, source in sources.items():
        made = attack(source, x, y, "pgd", EPSILON, steps=40, step=0.01).images
        found[words] = right_answers(run.model, made, y)
        _say(f"robust cnn, PGD on {words}", found[words])
    _say("robust cnn, every attack", torch.stack([*found.values()]).all(0))


def _fall(run: Any, x: Tensor, y: Tensor) -> None:
    """How a network that was not trained for it falls."""
    _say("plain cnn, as they are", right_answers(run.model, x, y))
    for kind in ("noise", "fgsm", "pgd"):
        _say(f"plain cnn, {kind}", ~attack(run, x, y, kind, EPSILON, steps=40, step=0.01).success)


def _say(words: str, right: Tensor) -> None:
    print(f"robustness, {words}: {right.float().mean():.4f} ({time.process_time():.0f} s so far)", flush=True)


if __name__ == "__main__":
    main()
