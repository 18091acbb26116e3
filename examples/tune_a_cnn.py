"""A CNN that knows five digits learns five others from a handful of labels, by LoRA on its convolutions.

The base is trained on images of 0 to 4. It is then tuned to 5 to 9 with 15 or 100 labels: its head alone, LoRA (a
low-rank update of the filters, saved in a small file), all weights; beside the same network from scratch. Then the
updates are merged into the filters, and the network is as fast as it was. The picture tune_a_cnn.png shows which layers
LoRA changed, and how much.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits

import cutaway as cut

WAYS = {
    "head alone": {"head_only": True},
    "LoRA": {"lora": 4, "rate": 0.01},
    "all weights": {"full": True, "rate": 0.005},
}
STEPS = 80


def main() -> None:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    images, labels = (x[order] / 16).reshape(-1, 8, 8), y[order]
    old, new = labels < 5, labels >= 5
    quiet = dict(show="quiet", validation=0.0, test=0.0)
    base = cut.train("cnn", data=(images[old], labels[old]), width=16, steps=STEPS, **quiet)

    known, asked = np.flatnonzero(new)[:400], np.flatnonzero(new)[400:]
    for count in (15, 100):
        few = np.concatenate([known[labels[known] == digit][: count // 5] for digit in range(5, 10)])
        data = (images[few], labels[few])
        runs = {name: cut.tune(base.path, data=data, steps=STEPS, **way, **quiet) for name, way in WAYS.items()}
        runs["from scratch"] = cut.train("cnn", data=data, width=16, steps=STEPS, **quiet)
        answers = {
            name: np.mean([int(row["class"]) for row in run.predict(images[asked])] == labels[asked])
            for name, run in runs.items()
        }
        print(f"{count:3} labels: " + ", ".join(f"{name} {right:.1%}" for name, right in answers.items()))

    tuned = cut.load(runs["LoRA"].path).model
    size = (runs["LoRA"].path / "adapter" / "adapter_model.safetensors").stat().st_size
    print(f"{tuned.stages[1][0].conv}\nthe adapter's file: {size / 1000:.0f} kB")
    before = base.model.with_labels(["5", "6", "7", "8", "9"]).eval()
    some = torch.from_numpy(images[asked][:64, None]).float()
    changed = cut.look.what_changed(before, tuned, some)
    print(changed.pictures()[0].save("tune_a_cnn.png"))

    expected = tuned(some)
    print(cut.merge(tuned))
    assert torch.allclose(tuned(some), expected, atol=1e-4)


if __name__ == "__main__":
    main()
