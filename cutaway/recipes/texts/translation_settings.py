r"""Settings that the recipes of encoder–decoders share: pairs of texts, and how a translation is searched for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import FIRST, RESULTS, setting
from cutaway.recipes.texts.text_settings import CorpusRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.texts.translate import Translations
    from cutaway.tasks.texts.translator import Translator


@dataclass(frozen=True)
class TranslationRecipe(CorpusRecipe):
    """A model that answers a text with a text, learned from pairs with a tab between source and target."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("generate"),
        Offer("predict", takes="lines.txt", gives="texts in; translations out"),
    )
    task_kind: ClassVar[str] = "texts/translate"
    unit: ClassVar[str] = "nats a target token"

    least_context: ClassVar[int] = 3  # a token between two special ones

    data: str = "dates"
    """a file of lines, source, tab, target; or the name of an embedded sample (`cutaway list data`)"""
    tokenizer: str = "bpe-8000"
    """bpe-N for one vocabulary of up to N for both sides, or the path of a tokenizer.json"""
    validation: float = 0.02
    """share of the pairs to evaluate on; 0 for none"""
    test: float = 0.02
    """share of the pairs for `cutaway test`; 0 for none"""
    context: int = setting(128, FIRST)
    """longest text, in tokens; pairs with longer ones are left out"""
    smoothing: float = 0.1
    """share of the target that is spread over all tokens in training, whose loss is the higher for it"""
    beams: int = 4
    """beginnings kept while searching for a translation; 1 takes the most probable token always"""

    evaluate_pairs: int = setting(500, RESULTS)
    """validation pairs used while training; the whole split is used at the end"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "beams", "evaluate_pairs")
        expect_share(self, "smoothing")

    def new_model(self, vocabulary: int) -> "nn.Module":
        """The new model, for a vocabulary that begins with <pad>, <start> and <end>."""
        raise self._cannot("be trained")

    @override
    def read(self, base: Any = None) -> "Translations":
        from cutaway.tasks.texts.translate import Translations

        task = Translations(self)
        task.train, task.validation  # noqa: B018 -- reads them
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "Translator":
        from cutaway.tasks.texts.translator import Translator

        return Translator.new(self, task) if model is None else Translator(self, task, model)
