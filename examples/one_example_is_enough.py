"""One example is enough: a network learns which digits are alike, and then names kinds that it has never seen.

It is trained on seven of the ten digits. The other three are then told apart with a single example of each.
"""

import argparse

import numpy as np

import cutaway as cut

NEW = (3, 6, 8)

if __name__ == "__main__":
    settings = argparse.ArgumentParser(description=__doc__)
    settings.add_argument("--steps", type=int, default=40, help="of training; 300 for a better one")
    given = settings.parse_args()

    digits = cut.data.read_images("digits", labelled=True, validation=0.0, test=0.0).train
    pixels, labels = digits.pixels(), digits.targets
    known = ~np.isin(labels, NEW)
    sizes = dict(size=16, width=24, stages=2, embedding=32, ways=16, turns=True, augment="affine", average=2)
    run = cut.train(
        "siamese",
        data=(pixels[known], labels[known]),
        validation=0.0,
        steps=given.steps,
        show="quiet",
        **sizes,
    )

    # One example of each new digit, and a hundred questions.
    examples = np.array([np.flatnonzero(labels == digit)[0] for digit in NEW])
    questions = np.setdiff1d(np.flatnonzero(~known), examples)[:100]
    support = (pixels[examples], [str(digit) for digit in NEW])
    answers = run.predict({"support": support, "images": pixels[questions]})
    right = np.mean([row["class"] == str(labels[i]) for row, i in zip(answers, questions, strict=True)])

    flat = pixels.reshape(len(pixels), -1).astype(float)
    far = ((flat[questions][:, None] - flat[examples]) ** 2).sum(-1)
    by_pixels = np.mean(np.array(NEW)[far.argmin(1)] == labels[questions])
    print(f"{run.path}: {right:.0%} of 100 digits of three new kinds named by one example of each")
    print(f"by the nearest pixels: {by_pixels:.0%}")
