r"""`markov`: a Markov chain of your own text, by characters, bytes, words or BPE tokens; it learns by counting."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import FIRST, setting
from cutaway.recipes.texts.language_settings import LanguageRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.texts.markov_chain import MarkovLearner


@dataclass(frozen=True)
class MarkovRecipe(LanguageRecipe):
    """Counts what follows what in a text, learns how far to trust the counts, and writes.

    The counts need no steps. The few that there are choose the discounts of Kneser–Ney smoothing (or the α of additive
    smoothing), so that each token of the training text is predicted well by the rest of it.
    """

    name: ClassVar[str] = "markov"
    abilities: ClassVar[tuple[Offer, ...]] = (Offer("test"),)
    quality: ClassVar[str] = (
        "tinyshakespeare by characters, the last tenth held out: loss 1.723 with order 3, 1.515 with 5, 1.496 with 7 "
        "(13 s of one core, all told), 1.496 with 9. With Chen and Goodman's discounts instead of learned ones 1.519 "
        "with order 7; additive smoothing 1.785 with order 3, 1.952 with 5."
    )

    order: int = setting(7, FIRST)
    """tokens that the next one depends on"""
    smoothing: Literal["kneser-ney", "additive"] = "kneser-ney"
    """what is done about contexts that were seen rarely or never"""
    context: int = setting(256, FIRST)
    """tokens in a stretch of text that the smoothing learns from"""
    batch: int = setting(64, FIRST)
    """stretches of text in a batch"""
    steps: int = setting(40, FIRST)
    """optimizer steps"""
    rate: float = 0.1
    """full learning rate"""
    log_every: int = 1
    """steps that a line of metrics.jsonl is the mean of"""
    evaluate_every: int = 10
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "order")
        if self.context < self.order:
            raise ValueError(
                f"context must be at least the order, got context={self.context}, order={self.order}; "
                f"try context={max(256, 4 * self.order)}"
            )

    @override
    def smaller(self) -> str:
        return f"lower order={self.order}: each order has its counts"

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "MarkovLearner":
        from cutaway.tasks.texts.markov_chain import MarkovLearner, count_chain

        if model is None:
            model = count_chain(task.parts, self.order, self.smoothing)
        return MarkovLearner(self, task, model)
