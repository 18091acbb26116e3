"""What a narrow code keeps of an image: principal components, two centroids, and more.

A linear autoencoder finds the subspace of principal components, one with a single bit the two centroids of K-means; a
deep one with as many numbers keeps more than either.
"""

import cutaway as cut


def error(run: cut.runs.Run, name: str = "loss") -> float:
    """The last measurement on images that it was not trained on."""
    return next(row[name] for row in reversed(run.metrics) if name in row and row["split"] == "validation-whole")


def main() -> None:
    linear = cut.train("autoencoder", design="linear", codes=4, steps=700, rate=5e-3, show="quiet")
    pca = linear.about["data"]["baseline"]
    angle = error(linear, "angle_to_principal_components")
    print(f"4 numbers, linear:  {error(linear):.4f} squared error a pixel; {pca['rule']}: {pca['metrics']['loss']:.4f}")
    print(f"                    the largest angle between the two subspaces: {angle:.1f}°")

    bit = cut.train("autoencoder", design="linear", code="binary", codes=1, steps=300, rate=2e-2, show="quiet")
    means = bit.about["data"]["baseline"]
    print(f"1 bit, linear:      {error(bit):.4f}; {means['rule']}: {means['metrics']['loss']:.4f}")

    deep = cut.train("autoencoder", codes=4, steps=700, show="quiet")
    print(f"4 numbers, deep:    {error(deep):.4f}")
    codes = deep.encode(deep.sample(3))
    print(f"three new images, and their codes again:\n{codes}")


if __name__ == "__main__":
    main()
