r"""The task `pairs`: vectors of texts in which those that belong together are near, by a trained model of text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import expect_same_parts
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tasks.texts.pairs import MatchingTexts
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.pairs import TunedPairs

VIEWS = 0.1  # dropout that makes two views of one text, as Gao et al. 2021 have it


@dataclass(frozen=True)
class TunedPairsRecipe(TunedRecipe):
    """Tunes a model of text so that texts that belong together have vectors that point alike.

    A table of pairs: a question and its answer, two sentences of one meaning, and for each if you like a text that does
    not belong. Every other text of a batch is a wrong answer (InfoNCE), so large batches teach more. Pairs with a
    column of scores teach how alike two texts are. Texts without a partner, one a line, are seen twice through
    dropout, and these two views belong together (SimCSE). `cutaway embed` and `cutaway nearest` use the run.
    """

    name: ClassVar[str] = "tuned-pairs"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="pairs.csv", gives="a table of pairs of texts in; the cosine of each out"),
    )
    task: ClassVar[str] = "pairs"
    task_kind: ClassVar[str] = "texts/pairs"
    quality: ClassVar[str] = (
        "MiniLM, which knows English, finds the English of a Spanish sentence among 1,200 for 9.7 % of them; after 30 "
        "steps of 64 pairs for 37.3 % by LoRA (rate 0.006) and 48.8 % in all weights (rate 0.0003); TF-IDF of pieces "
        "of words for 22.2 %. Texts without a partner did not help a small bert: MRR 0.040 before, 0.029 after. "
        "`python benchmarks/run.py text_pairs` measures it."
    )
    unit: ClassVar[str] = "nats a pair"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    head_learns: ClassVar[bool] = False

    data: str = setting("", FIRST, "PATH")  # in Python a DataFrame, too, or a dict of columns
    """CSV, TSV, JSON lines or Parquet: anchor, positive and perhaps negative; or two texts and a score; or texts
    without a partner, one a line"""
    columns: str = setting("", FIRST, "NAMES")
    """the columns of first and second texts, and of negatives, with commas between (default: found by their names);
    a single one has texts without a partner"""
    scale: float = setting(20.0, FIRST)
    """what cosines are multiplied by before the softmax: 1 / temperature"""
    context: int = setting(0, FIRST)
    """tokens of a text that are read, at most; 0 for as many as the base reads"""
    dropout: float = setting(0.0, OPTIMIZER)
    """share of the model's values dropped in training; 0 for that of the base, which for texts without a partner is
    0.1 if it has none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the texts"""
    batch: int = 64
    """pairs in a batch: each is told from all others of it"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "context")
        expect_share(self, "dropout")
        if not self.scale > 0:
            raise ValueError(f"scale must be above 0, got {self.scale}; try scale=20")
        if self.batch < 2:
            raise ValueError(f"batch must be at least 2, as pairs are told from each other, got {self.batch}; try 64")

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import text_pairs

        return text_pairs(data)

    @override
    def read(self, base: Any = None) -> "MatchingTexts":
        from cutaway.tasks.texts.pairs import MatchingTexts

        base.expect_tokenizer()
        task = MatchingTexts(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def expect_resumable(self, run: "Run") -> None:
        from cutaway.tasks.texts.pairs import MatchingTexts

        super().expect_resumable(run)
        expect_same_parts(run, lambda made: MatchingTexts(self, made).parts.train.firsts)

    @override
    def headed(self, base: "Base", task: "MatchingTexts") -> "nn.Module":
        """The base without a head, and with its way to pool written out: the mean of tokens, if it says none."""
        from cutaway.models.base import with_head
        from cutaway.models.specs.parts import SentenceSpec
        from cutaway.training.adapters.stacked_adapters import rebuilt

        spec = base.model.spec.sentence or SentenceSpec()
        share = self.dropout or (VIEWS if task.parts.unpaired and not has_dropout(base.model.spec) else 0.0)
        if share:
            base.model.spec = with_dropout(base.model.spec, share)
        model: Any = rebuilt(base.model, lambda m: with_head(m, None))
        context = min(value for value in (self.context, spec.context, getattr(model.spec, "context", None)) if value)
        model.spec = model.spec.but(sentence=spec.but(context=context))
        return model

    @override
    def learner_kind(self) -> "type[TunedPairs]":
        from cutaway.tuning.learners.pairs import TunedPairs

        return TunedPairs


def has_dropout(spec: Any) -> bool:
    """Whether a model of this design drops values in training, so that two passes of one text differ."""
    return bool(spec.dropout or spec.attention.dropout)


def with_dropout(spec: Any, share: float) -> Any:
    """The same design with this share of its values dropped in training."""
    return spec.but(dropout=share, attention=spec.attention.but(dropout=share))
