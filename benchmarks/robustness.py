"""How well `cnn --preset robust` withstands attacks of 0.3 on MNIST's test images, beside a plain `cnn`.

`robustness.py` trains both (and a second robust one, to make images with), `robustness.py RUN [PLAIN [OTHER]]` takes
runs that are there. Attacks: noise, one step along the sign of the gradient (FGSM), PGD of 40 steps of 0.01 and of 20
steps of 0.1, both with 5 uniform starts, 1,000 squares (no gradients), and images made with the other models; an image
counts as robust only if it withstands each of them. `--squares N` tries squares on N images (0: all 10,000).
Data: CUTAWAY_DATA, else ../shared/data. Processor seconds are those of one thread.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

import cutaway as cut
from cutaway.training.attacks.attacking import attack
from cutaway.training.attacks.robustness import right_answers

EPSILON = 0.3
PLAIN = dict(steps=300, evaluate_every=300)
OTHER = dict(preset="robust", seed=1, steps=400, warmup=80, evaluate_every=400)


def main() -> None:
    words = sys.argv[1:]
    squares = int(words[words.index("--squares") + 1]) if "--squares" in words else 0
    given = [word for word in words if Path(word).is_dir()]
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images" / "mnist"
    if not folder.is_dir():
        print(f"robustness: needs MNIST, got none at {folder}; set CUTAWAY_DATA")
        return
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as out:
        settings = [dict(preset="robust"), PLAIN, OTHER]
        runs = [
            cut.load(given[i]) if i < len(given) else _trained(str(folder), Path(out) / str(i), settings[i])
            for i in range(3)
        ]
        robust, plain, other = runs
        x, y, shown = robust.recipe.labelled_inputs(robust, None, "test", 0)
        print(f"robustness: {shown}, no pixel moves by more than {EPSILON}; right:", flush=True)
        _measure("plain cnn", plain, {}, x, y, len(x))
        _measure("robust cnn", robust, {"a plain cnn": plain, "another robust cnn": other}, x, y, squares or len(x))


def _trained(data: str, out: Path, settings: dict[str, object]) -> cut.runs.Run:
    start = time.process_time()
    run = cut.train("cnn", data=data, out=out, show="quiet", **settings)
    print(f"robustness: trained with {settings}: {time.process_time() - start:.0f} s of processor time", flush=True)
    return run


def _measure(
    name: str, run: cut.runs.Run, sources: dict[str, cut.runs.Run], x: Tensor, y: Tensor, squares: int
) -> None:
    """Prints the share that is right under each attack, and under all of them."""
    start = time.process_time()
    worst = right_answers(run.model, x, y)
    _say(name, "as they are", worst, start)
    for words, kind, more in (
        ("noise", "noise", {}),
        ("FGSM", "fgsm", {}),
        ("PGD, 40 steps of 0.01, 5 starts", "pgd", dict(steps=40, step=0.01, restarts=5)),
        ("PGD, 20 steps of 0.1, 5 starts", "pgd", dict(steps=20, step=0.1, restarts=5)),
    ):
        kept = ~attack(run, x, y, kind, EPSILON, **more).success
        worst &= kept
        _say(name, words, kept, start)
    for words, source in sources.items():
        made = attack(source, x, y, "pgd", EPSILON, steps=40, step=0.01).images
        kept = right_answers(run.model, made, y)
        worst &= kept
        _say(name, f"made with {words}", kept, start)
    some = torch.linspace(0, len(x) - 1, min(squares, len(x))).long()
    kept = ~attack(run, x[some], y[some], "square", EPSILON, steps=1000).success
    _say(name, f"1,000 squares, {len(some):,} images", kept, start)
    _say(name, f"all but squares, these {len(some):,} images", worst[some], start)
    _say(name, f"all and squares, these {len(some):,} images", worst[some] & kept, start)
    worst[some] &= kept
    _say(name, "every attack", worst, start)


def _say(name: str, words: str, right: Tensor, start: float) -> None:
    seconds = time.process_time() - start
    print(f"robustness, {name}, {words}: {right.float().mean():.4f} ({seconds:.0f} s so far)", flush=True)


if __name__ == "__main__":
    main()
