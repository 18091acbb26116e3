"""Semi-supervised: what an autoencoder of all images is worth to a head that sees few labels, on MNIST.

An autoencoder is trained on images without their labels. For each number of labels three ways are compared on the
test set: a linear head on its codes, the same head on plain pixels, and `cnn` from scratch on the labelled images.
All settings were fixed before the test set was read; the heads are scikit-learn's logistic regression.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

import cutaway as cut

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images" / "mnist"
LABELS = (50, 100, 500, 2000)
UNLABELLED = 20_000


def chosen(targets: np.ndarray, count: int) -> np.ndarray:
    """The first images of each class, as many of one as of another."""
    return np.sort(np.concatenate([np.flatnonzero(targets == k)[: count // 10] for k in range(10)]))


def head_accuracy(x: np.ndarray, y: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> float:
    """Test accuracy of a linear head."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    head = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
    return float(head.fit(x, y).score(asked, truth))


def main() -> None:
    if not DATA.is_dir():
        print(f"few_labels: needs MNIST as idx files in {DATA}")
        return
    data = cut.data.read_images(DATA, labelled=True, validation=0.0)
    train, test = data.train.take(slice(0, UNLABELLED)), data.open_test()
    x, y, asked, truth = train.pixels(), train.targets, test.pixels(), test.targets
    with tempfile.TemporaryDirectory() as place:
        start = time.process_time()
        coder = cut.train(
            "autoencoder", data=x, codes=64, noise=0.3, steps=2000, validation=0.05, test=0.0, seed=0,
            out=Path(place) / "coder", show="quiet",
        )  # fmt: skip
        codes, asked_codes = (coder.encode(part).numpy() for part in (x, asked))
        print(f"few_labels: autoencoder of {len(x):,} images, {time.process_time() - start:.0f} s of processor time")
        for count in LABELS:
            few = chosen(y, count)
            start = time.process_time()
            net = cut.train(
                "cnn", data=(x[few], y[few]), augment="", steps=300, batch=64, validation=0.0, test=0.0, seed=0,
                evaluate_every=300, out=Path(place) / f"cnn-{count}", show="quiet",
            )  # fmt: skip
            seconds = time.process_time() - start
            right = np.mean([row["class"] == str(label) for row, label in zip(net.predict(asked), truth, strict=True)])
            by_codes = head_accuracy(codes[few], y[few], asked_codes, truth)
            by_pixels = head_accuracy(x[few].reshape(count, -1), y[few], asked.reshape(len(asked), -1), truth)
            print(
                f"few_labels {count:5,} labels: head on codes {by_codes:.3f}, head on pixels {by_pixels:.3f}, "
                f"cnn from scratch {right:.3f} ({seconds:.0f} s)"
            )


if __name__ == "__main__":
    main()
