"""Many images, few labels: what an autoencoder of all images is worth to a classifier.

A denoising autoencoder learns from images alone. A linear head on its codes then needs fewer labels than the same head
on plain pixels; a CNN that is trained on the labelled images alone overtakes both as labels grow. The chart is
few_labels.png.
"""

import altair as alt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cutaway as cut

LABELS = (10, 50, 300)


def head(x: np.ndarray, y: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> float:
    """The accuracy of a linear head."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    return float(model.fit(x.reshape(len(x), -1), y).score(asked.reshape(len(asked), -1), truth))


def main() -> None:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    images, y = (x[order] / 16).reshape(-1, 8, 8), y[order]
    known, labels, asked, truth = images[:1300], y[:1300], images[1300:], y[1300:]

    coder = cut.train("autoencoder", data=known, codes=32, noise=0.3, steps=600, test=0.0, show="quiet")
    codes, asked_codes = coder.encode(known).numpy(), coder.encode(asked).numpy()

    rows = []
    for count in LABELS:
        few = np.concatenate([np.flatnonzero(labels == digit)[: count // 10] for digit in range(10)])
        y = labels[few]
        net = cut.train(
            "cnn", data=(known[few], y), width=16, steps=120, ema=0.9, validation=0.0, test=0.0, show="quiet"
        )  # fmt: skip
        found = {
            "head on codes": head(codes[few], y, asked_codes, truth),
            "head on pixels": head(known[few], y, asked, truth),
            "CNN from scratch": float(np.mean([int(row["class"]) for row in net.predict(asked)] == truth)),
        }
        print(f"{count:3} labels: " + ", ".join(f"{name} {value:.1%}" for name, value in found.items()))
        rows += [{"labels": count, "by": name, "accuracy": value} for name, value in found.items()]

    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "labels:Q",
                title="images with a label",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=LABELS),
            ),
            y=alt.Y("accuracy:Q", title="right answers", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
            color=alt.Color("by:N", title=None, sort=None),
        )
        .properties(width=420, height=260)
    )
    picture = cut.look.Picture(
        chart,
        "What images without labels are worth",
        "Accuracy of three classifiers by the number of labels.",
        data=rows,
        caption="With few labels codes learned from all images beat pixels; with more, a CNN overtakes both.",
    )
    print(picture.save("few_labels.png"))


if __name__ == "__main__":
    main()
