r"""`rnn`, `lstm` and `gru`: recurrent language models of your own text, by characters, bytes, words or BPE tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Optimizer
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import FIRST, SCHEDULE, setting
from cutaway.recipes.texts.language_settings import LanguageRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.models import RecurrentLMSpec
    from cutaway.tasks.texts.carried_state import CarriedStateLearner


@dataclass(frozen=True)
class RecurrentRecipe(LanguageRecipe):
    """Trains a recurrent net on text, its state carried from batch to batch, and lets it write."""

    abilities: ClassVar[tuple[Offer, ...]] = (Offer("test"),)

    cell: ClassVar[str] = ""

    context: int = setting(64, FIRST)
    """tokens that gradients reach back; the state reaches further"""
    batch: int = setting(32, FIRST)
    """rows of text that are read side by side"""
    steps: int = setting(400, FIRST)
    """optimizer steps"""
    width: int = setting(256, FIRST)
    """width of the state"""
    depth: int = setting(1, FIRST)
    """layers"""
    embedding: int = 64
    """width of a token's vector; 0: as the state"""
    tied: bool = False
    """let the output compare with the embeddings, instead of weights of its own"""
    dropout: float = 0.0
    """share of values dropped in training: of embeddings, between layers, before the output"""
    jump: float = setting(0.05, SCHEDULE)
    """probability that a row jumps to another place of the text and forgets; 0: never, which overfits"""
    scheduled_sampling: float = setting(0.0, SCHEDULE)
    """share of the inputs that the model writes itself at the end of training, growing from 0"""
    optimizer: Optimizer = "muon"
    """rule that turns gradients into steps"""
    rate: float = 4e-3
    """full learning rate of AdamW"""
    muon_rate: float = 0.05
    """full learning rate of the matrices that Muon trains"""
    warmup: int = 50
    """steps in which the rate rises from zero"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth")
        expect_at_least(self, 0, "embedding")
        expect_share(self, "dropout")
        for name in ("jump", "scheduled_sampling"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, got {getattr(self, name)}; leave it out for the default")

    def spec(self, vocabulary: int) -> "RecurrentLMSpec":
        """The model's design."""
        from cutaway.models import RecurrentLMSpec

        sizes = dict(width=self.width, depth=self.depth, embedding=self.embedding or None)
        return RecurrentLMSpec(vocabulary, self.cell_kind(), dropout=self.dropout, tied=self.tied, **sizes)  # type: ignore[arg-type]

    def cell_kind(self) -> str:
        """The cell, as a spec names it."""
        return self.cell

    @override
    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), "
            f"context={self.context}, width={self.width} or depth={self.depth}"
        )

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "CarriedStateLearner":
        import torch

        from cutaway.models import RecurrentLM
        from cutaway.tasks.texts.carried_state import CarriedStateLearner

        if model is None:
            torch.manual_seed(self.seed)
            model = RecurrentLM(self.spec(task.parts.vocabulary))
        return CarriedStateLearner(self, task, model)


@dataclass(frozen=True)
class RNNRecipe(RecurrentRecipe):
    """Trains a plain recurrent net (Elman's) on text and lets it write."""

    name: ClassVar[str] = "rnn"
    quality: ClassVar[str] = (
        "tinyshakespeare by characters, as the lstm: loss 1.692 in 20 s of one core (556 steps, 103,000 weights, one "
        "seed): in so short a time many cheap steps count for more than gates."
    )
    cell: ClassVar[str] = "rnn"


@dataclass(frozen=True)
class LSTMRecipe(RecurrentRecipe):
    """Trains an LSTM on text and lets it write."""

    name: ClassVar[str] = "lstm"
    quality: ClassVar[str] = (
        "tinyshakespeare by characters, the last tenth held out, read with a carried state: loss 1.752 in 27 s of one "
        "core (273 steps, 350,000 weights, one seed; a gpt of that size in that time 1.794), 1.503 in about 14 minutes "
        "(--width 384 --context 128 --dropout 0.2 --steps 2400, 719,000 weights). A Markov chain of order 7 (`cutaway "
        "train markov`), counted in 13 s, reaches 1.496."
    )
    cell: ClassVar[str] = "lstm"

    gates: Literal["plain", "peephole", "coupled"] = "plain"
    """peephole: gates see the cell state; coupled: what is forgotten makes room for what is written"""

    @override
    def cell_kind(self) -> str:
        return "lstm" if self.gates == "plain" else f"{self.gates}-lstm"


@dataclass(frozen=True)
class GRURecipe(RecurrentRecipe):
    """Trains a GRU on text and lets it write."""

    name: ClassVar[str] = "gru"
    quality: ClassVar[str] = (
        "tinyshakespeare by characters, as the lstm: loss 1.767 in 23 s of one core (247 steps, 268,000 weights, one "
        "seed)."
    )
    cell: ClassVar[str] = "gru"
