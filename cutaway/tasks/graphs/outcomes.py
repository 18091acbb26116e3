r"""Outcomes of vertices, edges or whole graphs, classes or values: the loss of a network's outputs, and its metrics.

classes    loss = mean of −log softmax(outputs)_y
values     loss = mean of (output − (y − mean) / std)²        mean, std: of the training targets
"""

from dataclasses import dataclass

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, balanced_accuracy, macro_f1, r_squared
from cutaway.tasks.graphs.ranking_metrics import auc


@dataclass(frozen=True)
class Scale:
    """Values as the network gives them: (y − mean) / std."""

    mean: float = 0.0
    std: float = 1.0

    @classmethod
    def of(cls, values: Float[Tensor, "n"]) -> "Scale":
        return cls(values.double().mean().item(), values.double().std(unbiased=False).item() or 1.0)


def outcome_loss(outputs: Float[Tensor, "n o"], targets: Shaped[Tensor, "n"], scale: Scale | None = None) -> Tensor:
    """The mean of −log p(class), or of the squared deviations of values on their ``scale``."""
    if scale is None:
        return nn.functional.cross_entropy(outputs.float(), targets)
    return (outputs[:, 0].float() - (targets - scale.mean) / scale.std).square().mean()


def outcome_metrics(
    outputs: Float[Tensor, "n o"], targets: Shaped[Tensor, "n"], scale: Scale | None = None
) -> dict[str, float]:
    """Of classes the loss, accuracy, balanced accuracy, macro F1 (and AUC of two); of values the RMSE, MAE and R²."""
    if scale is not None:
        error = outputs[:, 0] - targets
        metrics = {
            "loss": (error / scale.std).square().mean().item(),
            "rmse": error.square().mean().sqrt().item(),
            "mae": error.abs().mean().item(),
        }
        return metrics | ({"r2": r_squared(outputs[:, 0], targets)} if len(targets.unique()) > 1 else {})
    predicted = outputs.argmax(-1)
    metrics = {
        "loss": nn.functional.cross_entropy(outputs, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "balanced_accuracy": balanced_accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }
    if outputs.shape[1] == 2 and len(targets.unique()) == 2:
        metrics["auc"] = auc((outputs[:, 1] - outputs[:, 0]).double().numpy(), targets.numpy())
    return metrics
