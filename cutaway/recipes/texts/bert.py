r"""`bert`: a model that reads text in both directions, and guesses masked tokens of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, RESULTS, setting
from cutaway.recipes.texts.text_settings import TextRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.models.specs.architectures import BERTSpec
    from cutaway.tasks.texts.masked_tokens import MaskedTokens, MaskedTokensLearner


@dataclass(frozen=True)
class BERTRecipe(TextRecipe):
    """Trains a small BERT on text to guess masked tokens; its hidden states are vectors of words in their context.

    Of every stretch of text 15 % of the tokens are chosen, alone or as whole words or spans of words; 80 % of these are
    masked, 10 % replaced, 10 % kept, and the model is to say what stood there. Heads start by looking at neighbours;
    all else is BERT's own, and `cutaway export` makes a checkpoint that transformers loads as BertForMaskedLM.
    """

    name: ClassVar[str] = "bert"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes='"The [MASK] is returned."',
            gives="texts with [MASK] in; the five most probable fillings of each out",
        ),
    )
    task_kind: ClassVar[str] = "texts/masked_tokens"
    quality: ClassVar[str] = (
        "35.5 % of the masked tokens of held-out documentation right, loss 3.66, after 1,000 steps (160 s of processor "
        "time). The most frequent token 6.9 %; counts of both neighbours 28.0 %, loss 4.15; transformers' "
        "BertForMaskedLM of the same size, with AdamW on the same batches, 15.2 %, loss 5.69. "
        "`python benchmarks/run.py filling` measures all of them. After 300 steps on summaries of Wikipedia, --mask "
        "words fills whole words best (loss 5.38; tokens 5.77, spans 6.33), --mask tokens single tokens (5.55; 6.29, "
        "6.43): `python benchmarks/run.py masked_words`."
    )
    unit: ClassVar[str] = "nats a masked token"

    least_context: ClassVar[int] = 3  # a token between two special ones

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    tokenizer: str = "bpe-2000"
    """bpe, bpe-N for a vocabulary of N, characters, bytes, or the path of a tokenizer.json that has a mask"""
    masked: float = setting(0.15, DATA)
    """share of the tokens that are to be guessed"""
    mask: Literal["tokens", "words", "spans"] = setting("tokens", DATA)
    """what is masked: single tokens, whole words, or spans of 1 to 10 words (3.8 on average)"""
    context: int = 32
    """tokens that the model sees at once, the special tokens at both ends among them"""

    batch: int = 128
    """stretches of text in a batch; only the masked tokens teach, so it is large"""
    momentum: float = 0.9
    """how long Muon, momentum and Nesterov remember gradients"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens read while training; the whole split is used at the end"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "evaluate_tokens")
        if not 0 < self.masked < 1:
            raise ValueError(f"masked must be above 0 and below 1, got {self.masked}; try masked=0.15")

    def spec(self, vocabulary: int) -> "BERTSpec":
        """The model's design."""
        from cutaway.models.specs.architectures import BERTSpec, HeadSpec

        sizes = dict(width=self.width, depth=self.depth, heads=self.heads, context=self.context)
        spec = BERTSpec.bert(vocabulary=vocabulary, head=HeadSpec("masked"), dropout=self.dropout, **sizes)
        return spec.but(checkpointing=self.checkpointing)

    @override
    def read(self, base: Any = None) -> "MaskedTokens":
        from cutaway.tasks.texts.masked_tokens import MaskedTokens

        task = MaskedTokens(self)
        task.parts.expect_context(self.context)
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "MaskedTokensLearner":
        import torch

        from cutaway.models import BERT
        from cutaway.tasks.texts.masked_tokens import MaskedTokensLearner
        from cutaway.tasks.texts.neighbour_heads import start_nearby

        if model is None:
            torch.manual_seed(self.seed)
            model = BERT(self.spec(task.parts.vocabulary))
            start_nearby(model)
        return MaskedTokensLearner(self, task, model)
