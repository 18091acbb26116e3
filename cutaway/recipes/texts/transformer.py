r"""`transformer`: an encoder–decoder that learns to translate from pairs of texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Optimizer
from cutaway.recipes.texts.text_settings import TextRecipe
from cutaway.recipes.texts.translation_settings import TranslationRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.models.specs.architectures import TransformerSpec


@dataclass(frozen=True)
class TransformerRecipe(TranslationRecipe, TextRecipe):
    """Learns to translate from pairs of texts, a tab between source and target: sentences, questions, dates.

    The design "base" is that of 2017 (post-norm, ReLU); "quick" is pre-norm with RMSNorm, normed queries and keys and
    ReLU². Both add sinusoids to the input and share one matrix between both embeddings and the output.
    """

    name: ClassVar[str] = "transformer"
    quality: ClassVar[str] = (
        "All of 383 test dates right after 80 s of processor time. English to Spanish (118,964 pairs, 1,302 steps "
        "of 64, 16 minutes of one busy core): 57.8 % of the words of held-out translations right, given those before; "
        "Keras's example, ten times as large, publishes 52.1 % after as many steps. BLEU 25.3. "
        "`python benchmarks/run.py translation` measures it."
    )
    design: Literal["quick", "base"] = "quick"
    """how the model is built"""
    depth: int = 2
    """layers of the encoder, and of the decoder"""
    dropout: float = 0.1
    """share of values dropped in training"""
    steps: int = 600
    """optimizer steps"""
    batch: int = 64
    """pairs in a batch, of similar length"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    optimizer: Optimizer = "muon"  # said again: of two bases the first decides, with what it has from `Recipe`, too
    """rule that turns gradients into steps"""
    rate: float = 1e-2
    """full learning rate of AdamW"""

    def spec(self, vocabulary: int) -> "TransformerSpec":
        """The model's design."""
        from cutaway.data.text.token_rows import END, START
        from cutaway.models.specs.architectures import NormSpec, TransformerSpec

        spec = TransformerSpec.base(
            vocabulary=vocabulary,
            width=self.width,
            depth=self.depth,
            heads=self.heads,
            context=self.context,
            dropout=self.dropout,
        )
        if self.design == "quick":
            spec = spec.but(
                order="pre",
                norm=NormSpec("rms", 1e-6),
                attention__norm=True,
                attention__bias=False,
                mlp__activation="relu_squared",
                mlp__bias=False,
            )
        return spec.but(start=START, end=(END,), checkpointing=self.checkpointing)

    @override
    def new_model(self, vocabulary: int) -> "nn.Module":
        from cutaway.models import Transformer

        return Transformer(self.spec(vocabulary))

    @override
    def smaller(self) -> str:
        return f"{super().smaller()}, or lower the vocabulary of tokenizer={self.tokenizer}"
