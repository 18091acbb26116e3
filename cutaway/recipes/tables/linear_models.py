r"""`linear`, `logistic`, `softmax` and `perceptron`: one layer, four ways to learn it.

    linear       ŷ = x W + b               squared loss            least squares
    logistic     ŷ = σ(x W + b)            log loss                logistic regression
    softmax      ŷ = softmax(x W + b)      cross entropy           multinomial logistic regression
    perceptron   ŷ = threshold(x W + b)    its own rule            W ← W + ε xᵀ(y − ŷ)

The first three descend to the one minimum that their cost has, which is what statistics solves for. Notes: N3 §2.4–2.5.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Optimizer
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import FIRST, setting
from cutaway.recipes.tables.table_settings import TableRecipe

if TYPE_CHECKING:
    from cutaway.data.tables.reading import Table
    from cutaway.models.tables import TableNetSpec
    from cutaway.tasks.tables.rows import RowLearner


@dataclass(frozen=True)
class OneLayerRecipe(TableRecipe):
    """A model without hidden layers, in which every category has an input of its own."""

    batch: int = 16384
    """rows in a batch; a smaller table is taken whole, and every step descends its true cost"""
    optimizer: Optimizer = "adam"
    """rule that turns gradients into steps"""
    rate: float = 0.03
    """full learning rate"""
    clip: float = 0.0
    """longest gradient allowed; 0 for any"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: last, the minimum, or best by validation"""
    penalty: float = setting(0.0, FIRST)
    """weight of ½ Σ W² against the sum of all losses"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "penalty")

    @override
    def spec(self, table: "Table") -> "TableNetSpec":
        from cutaway.models.tables import TableNetSpec

        schema = table.schema
        kind = self.heads[schema.task]
        return TableNetSpec(
            task=kind,
            outputs=len(schema.labels) if kind == "multi-class" else len(schema.targets),
            numbers=len(schema.numbers),
            cardinalities=schema.cardinalities,
            depth=0,
            embedding=0,
        )

    @override
    def learner(self) -> "type[RowLearner]":
        from cutaway.tasks.tables.rows import OneLayer

        return OneLayer


@dataclass(frozen=True)
class LinearRecipe(OneLayerRecipe):
    """Predicts numbers by a weighted sum of the columns: linear regression, least squares."""

    name: ClassVar[str] = "linear"
    unit: ClassVar[str] = "of the target's variance"
    heads: ClassVar[dict[str, str]] = {"regression": "regression"}
    others: ClassVar[str] = "logistic, softmax or mlp"
    quality: ClassVar[str] = (
        "The weights of scikit-learn's LinearRegression (of Ridge, with --penalty) to five decimals on diabetes, where "
        "R² on held-out rows is 0.50."
    )

    data: str = "diabetes"
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    penalty: float = 0.0
    """pull of the weights towards zero, alpha of scikit-learn's Ridge; 0 for least squares"""


@dataclass(frozen=True)
class LogisticRecipe(OneLayerRecipe):
    """Tells two classes apart by a weighted sum of the columns: logistic regression (also for several labels)."""

    name: ClassVar[str] = "logistic"
    unit: ClassVar[str] = "nats a row"
    heads: ClassVar[dict[str, str]] = {"binary": "binary", "multi-label": "multi-label"}
    others: ClassVar[str] = "softmax, linear or mlp"
    quality: ClassVar[str] = (
        "The weights of scikit-learn's LogisticRegression to four decimals on breast-cancer: accuracy 0.979 on "
        "held-out rows; 0.853 on Adult's test file (theirs 0.853)."
    )

    data: str = "breast-cancer"
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    penalty: float = 1.0
    """pull of the weights towards zero, 1/C of scikit-learn's LogisticRegression; 0 for none"""


@dataclass(frozen=True)
class SoftmaxRecipe(OneLayerRecipe):
    """Tells classes apart by a weighted sum of the columns for each: multinomial logistic regression."""

    name: ClassVar[str] = "softmax"
    unit: ClassVar[str] = "nats a row"
    heads: ClassVar[dict[str, str]] = {"multi-class": "multi-class", "binary": "multi-class"}
    others: ClassVar[str] = "linear, logistic or mlp"
    quality: ClassVar[str] = (
        "The weights of scikit-learn's LogisticRegression to four decimals on iris; accuracy 0.964 on held-out digits."
    )

    data: str = "iris"
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    penalty: float = 1.0
    """pull of the weights towards zero, 1/C of scikit-learn's LogisticRegression; 0 for none"""


@dataclass(frozen=True)
class PerceptronRecipe(OneLayerRecipe):
    """Learns threshold units by Rosenblatt's rule, a row at a time: nothing happens without a mistake.

    For more than two classes the one with the largest sum is taken. Where no plane separates the classes the rule never
    rests; the weights with the fewest mistakes in validation are kept (Gallant's pocket).
    """

    name: ClassVar[str] = "perceptron"
    unit: ClassVar[str] = "share of mistakes"
    heads: ClassVar[dict[str, str]] = {task: task for task in ("binary", "multi-class", "multi-label")}
    others: ClassVar[str] = "linear or mlp"
    probable: ClassVar[bool] = False
    quality: ClassVar[str] = (
        "Accuracy 0.967 on held-out rows of breast-cancer; scikit-learn's Perceptron 0.954, our logistic 0.979."
    )

    data: str = "breast-cancer"
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    steps: int = 3000
    """rows seen"""
    batch: int = 1
    """rows in a batch: the rule takes one; more take the mean of what each would change"""
    optimizer: Optimizer = "sgd"
    """what makes steps of gradients: sgd is the rule as it is"""
    rate: float = 1.0
    """how much of a mistaken row is added to the weights"""
    schedule: Literal["constant", "linear", "cosine", "step", "wsd"] = "constant"
    """shape of the learning rate"""
    final: Literal["best", "last"] = "best"
    """the weights that the run ends with: best by validation (last, if there is none), or last"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.penalty:
            raise ValueError(f"the perceptron's rule has no penalty, got penalty={self.penalty}; leave it at 0")

    @override
    def learner(self) -> "type[RowLearner]":
        from cutaway.tasks.tables.rows import Perceptron

        return Perceptron
