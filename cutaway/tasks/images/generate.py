r"""The task of making new images: samples, judged by how they lie among images that were not trained on.

    precision, coverage, recognised, novelty        of samples beside held-out images (`sample_scores.py`)
    baseline                                        samples of a Gaussian with the training pixels' mean and covariance

`cutaway train diffusion` learns it (`denoising.py`).
"""

from typing import Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.image_task import ImageTask
from cutaway.tasks.images.judge import judge_of
from cutaway.tasks.images.sample_scores import gaussian_samples, score_samples

_JUDGED = 500  # samples that are judged, at most
_DRAWS = 10  # of noise for each test image


class GeneratedImages(ImageTask):
    """Images to make more of; labels, where they have some, teach their classes."""

    kind: ClassVar[str] = "images/generate"

    def judged(self, rows: ImageRows | None) -> int:
        """How many samples are judged beside some images."""
        return min(_JUDGED, 0 if rows is None else len(rows))

    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """Samples of the Gaussian with the mean and covariance of the training pixels."""
        train = self.parts.train
        found = score_samples(gaussian_samples(train, self.judged(rows), self.settings.seed), train, rows)
        if not found:
            return {}
        rule = (
            "samples of the Gaussian with the mean and covariance of the training images' pixels; precision and "
            f"coverage are by the features of {judge_of(train).words}"
        )
        return {"rule": rule, "metrics": {name: found[name] for name in found if not name.startswith("real_")}}

    def metrics(
        self, samples: Float[Tensor, "n c h w"], rows: ImageRows, classes: Int[Tensor, "n"] | None
    ) -> dict[str, float]:
        """How samples of some ``classes`` compare with images that were not trained on."""
        return score_samples(samples, self.parts.train, rows, classes)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """The error of what a learner predicts of test images."""
        return learner.measure(learner.model, self.parts.open_test(), draws=_DRAWS)
