r"""`seq2seq`: a recurrent encoder–decoder with Bahdanau's attention that learns to translate from pairs of texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import FIRST, setting
from cutaway.recipes.texts.translation_settings import TranslationRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.models import Seq2SeqSpec


@dataclass(frozen=True)
class Seq2SeqRecipe(TranslationRecipe):
    """Learns to translate from pairs of texts, a tab between source and target: sentences, questions, dates.

    A BiLSTM reads the source, an LSTM writes and looks back at it before every token (attention), or has one vector of
    it alone (thought): train both to see what attention is for.
    """

    name: ClassVar[str] = "seq2seq"
    quality: ClassVar[str] = (
        "All held-out dates right after 900 steps, 70 s of one core. English to Spanish (118,964 pairs, 4,301 steps of "
        "64, 1,185 s of one core with evaluations): 63.1 % of the words of held-out translations right, given those "
        "before, BLEU 31.4 (by sacrebleu 30.9); the recipe transformer reaches 57.8 % and 25.3 in the same time. "
        "`python benchmarks/translation.py seq2seq --seconds 960` measures it."
    )

    reads: Literal["attention", "thought"] = setting("attention", FIRST)
    """how the decoder reads the source: attention looks at every token of it, thought keeps one vector of it"""
    width: int = setting(192, FIRST)
    """width of the decoder's state, and of the encoder's in each direction"""
    depth: int = 1
    """layers of the encoder"""
    embedding: int = 128
    """width of a token's vector; 0: as the state"""
    dropout: float = 0.1
    """share of values dropped in training"""
    steps: int = 700
    """optimizer steps"""
    batch: int = 64
    """pairs in a batch, of similar length"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    rate: float = 5e-3
    """full learning rate"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth")
        expect_at_least(self, 0, "embedding")
        expect_share(self, "dropout")

    def spec(self, vocabulary: int) -> "Seq2SeqSpec":
        """The model's design."""
        from cutaway.data.text.token_rows import END, START
        from cutaway.models import Seq2SeqSpec

        return Seq2SeqSpec(
            vocabulary=vocabulary,
            width=self.width,
            depth=self.depth,
            embedding=self.embedding or None,
            reads=self.reads,
            context=self.context,
            dropout=self.dropout,
            start=START,
            end=(END,),
        )

    @override
    def new_model(self, vocabulary: int) -> "nn.Module":
        from cutaway.models import Seq2Seq

        return Seq2Seq(self.spec(vocabulary))

    @override
    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), width={self.width}, "
            f"or the vocabulary of tokenizer={self.tokenizer}"
        )
