"""Learn from images without their labels, then name classes with a handful of labels.

Two changed views of each image must find each other among all others (`contrastive`). No label is read. Afterwards a
linear map on the encoder's vectors needs far fewer labels than one on the pixels. The picture learn_without_labels.png
shows images that were not trained on, and the training images that the encoder takes for most alike.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import cutaway as cut


def head(x: np.ndarray, y: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> float:
    """The accuracy of a linear map."""
    scale = x.mean(0), x.std(0) + 1e-6
    model = LogisticRegression(C=0.1, max_iter=1000).fit((x - scale[0]) / scale[1], y)
    return float(model.score((asked - scale[0]) / scale[1], truth))


def main() -> None:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    images, y = (x[order] / 16).reshape(-1, 8, 8), y[order]
    known, labels, asked, truth = images[:1300], y[:1300], images[1300:], y[1300:]

    run = cut.train("contrastive", data=known, width=16, batch=128, steps=150, test=0.0, show="quiet")
    vectors, asked_vectors = run.embed(known).numpy(), run.embed(asked).numpy()

    for count in (10, 30, 100):
        few = np.concatenate([np.flatnonzero(labels == digit)[: count // 10] for digit in range(10)])
        by_vectors = head(vectors[few], labels[few], asked_vectors, truth)
        by_pixels = head(known[few].reshape(count, -1), labels[few], asked.reshape(len(asked), -1), truth)
        print(f"{count:3} labels: on the encoder's vectors {by_vectors:.1%}, on pixels {by_pixels:.1%}")

    a, b = (torch.nn.functional.normalize(torch.from_numpy(v), dim=1) for v in (asked_vectors[:6], vectors))
    near = (a @ b.T).topk(6).indices.numpy()
    picture = cut.look.image_grid(
        [image for i in range(6) for image in (asked[i], *known[near[i]])],
        title="What the encoder takes for alike",
        columns=7,
        names=[name for i in range(6) for name in (f"asked: {truth[i]}", *map(str, labels[near[i]]))],
        caption="Each line is a new image and the most alike ones: mostly of one class, which it was never told.",
    )
    print(picture.save("learn_without_labels.png"))


if __name__ == "__main__":
    main()
