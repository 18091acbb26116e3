r"""`gpt`: a language model of your own text, by characters, bytes or BPE tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.texts.language_settings import LanguageRecipe
from cutaway.recipes.texts.text_settings import TextRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.models.specs.architectures import GPTSpec
    from cutaway.tasks.texts.next_token import NextTokenLearner


@dataclass(frozen=True)
class GPTRecipe(TextRecipe, LanguageRecipe):
    """Trains a small GPT on text and lets it write.

    The default design, "quick", has rotary positions, normed queries and keys, ReLU², and outputs that start at zero.
    """

    name: ClassVar[str] = "gpt"
    abilities: ClassVar[tuple[Offer, ...]] = (Offer("test"),)
    quality: ClassVar[str] = (
        "The preset small on tinyshakespeare, by characters: validation loss 1.86 in 15 s on two cores; nanoGPT's CPU "
        "quick start, of the same size: 1.90 in 82 s. `python benchmarks/run.py race` measures it. The default run "
        "(800 steps, one seed): 1.624 with the design quick, 1.632 with llama, which can be exported."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "small": dict(
            width=128,
            depth=4,
            heads=4,
            context=64,
            tokenizer="characters",
            validation=0.1,
            test=0.0,
            batch=16,
            steps=200,
            rate=2e-2,
        ),
    }

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    design: Literal["quick", "gpt2", "llama"] = "quick"
    """how the model is built: quick learns fastest; llama and gpt2 can be exported (`cutaway export`), quick cannot"""
    depth: int = 4
    """layers"""
    prefix: int = 0
    """first tokens of every stretch that are read in both directions and not predicted, as prompts are later"""
    steps: int = 800
    """optimizer steps"""
    batch: int = 16
    """stretches of text in a batch"""
    momentum: float = 0.9
    """how long Muon, momentum and Nesterov remember gradients"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "prefix")
        if self.prefix > self.context:
            raise ValueError(
                f"prefix must leave a token to predict, got prefix={self.prefix} with context={self.context}; "
                f"try prefix={self.context // 2}"
            )

    def spec(self, vocabulary: int) -> "GPTSpec":
        """The model's design."""
        from cutaway.models.specs.architectures import GPTSpec

        make: Any = {"quick": GPTSpec.quick, "gpt2": GPTSpec.gpt2, "llama": GPTSpec.llama}[self.design]
        spec = make(vocabulary=vocabulary, width=self.width, depth=self.depth, heads=self.heads, context=self.context)
        spec = spec.but(prefix=self.prefix > 0)
        return spec.but(dropout=self.dropout, attention__dropout=self.dropout, checkpointing=self.checkpointing)

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "NextTokenLearner":
        import torch

        from cutaway.models import GPT
        from cutaway.models.transformers.construction import start_quietly
        from cutaway.tasks.texts.next_token import NextTokenLearner

        if model is None:
            torch.manual_seed(self.seed)
            model = GPT(self.spec(task.parts.vocabulary))
            if self.design == "quick":
                start_quietly(model)
        return NextTokenLearner(self, task, model, self.prefix)
