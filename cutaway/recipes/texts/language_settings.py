r"""Settings that the recipes of language models share: the text, how much of it is evaluated, and samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import RESULTS, setting
from cutaway.recipes.texts.text_settings import CorpusRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.texts.next_token import NextToken


@dataclass(frozen=True)
class LanguageRecipe(CorpusRecipe):
    """A model that predicts the next token of a text, and writes."""

    abilities: ClassVar[tuple[Offer, ...]] = (Offer("generate"),)

    task_kind: ClassVar[str] = "texts/next_token"
    unit: ClassVar[str] = "nats a token"

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens used while training; the whole split is used at the end"""
    sample_tokens: int = setting(200, RESULTS)
    """tokens of the sample that is written at every evaluation; 0 for none"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "evaluate_tokens")
        expect_at_least(self, 0, "sample_tokens")

    @override
    def read(self, base: Any = None) -> "NextToken":
        from cutaway.tasks.texts.next_token import NextToken

        task = NextToken(self)
        task.parts.expect_context(self.context)
        return task
