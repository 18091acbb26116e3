r"""The task of making images anew from a code: images in three parts, and how well a learner does beside a simple one.

    x → code → x̂          loss: the squared error of a pixel, or −log p(x) in nats, as the learner has it

`cutaway train autoencoder` (`autoencoder.py`) and `vae` (`vae.py`) learn it.
"""

from typing import Any, ClassVar

from cutaway.tasks.images.image_task import ImageTask

_DRAWS = 10  # of what is drawn to measure test images, each


class ReconstructedImages(ImageTask):
    """Images, with or without labels."""

    kind: ClassVar[str] = "images/reconstruct"

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the baseline."""
        rows = self.parts.open_test()
        naive = learner.baseline(rows).get("metrics", {})
        found = learner.measure(learner.model, rows, draws=_DRAWS)
        return found | {f"baseline_{name}": value for name, value in naive.items()} | learner.test_bounds(rows)
