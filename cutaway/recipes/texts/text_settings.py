r"""Settings that the recipes for text share: those of the text, and of a transformer."""

from dataclasses import dataclass
from typing import ClassVar

from cutaway.overriding import override
from cutaway.recipes.base import Optimizer, Recipe
from cutaway.recipes.checks import expect_at_least, expect_heads, expect_share
from cutaway.recipes.settings import DATA, FIRST, setting


@dataclass(frozen=True)
class CorpusRecipe(Recipe):
    """A model of any kind, trained on text."""

    least_context: ClassVar[int] = 1  # tokens without which the model cannot do anything

    encoding: str = setting("utf-8", DATA)
    """encoding of the text"""
    tokenizer: str = setting("characters", FIRST, "NAME|PATH")
    """characters, bytes, words or bpe (words-N, bpe-N: a vocabulary of N), or the path of a tokenizer.json"""
    validation: float = setting(0.05, DATA)
    """share of the text to evaluate on; 0 for none"""
    test: float = setting(0.05, DATA)
    """share of the text for `cutaway test`; 0 for none"""
    context: int = setting(128, FIRST)
    """tokens that the model sees at once"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, self.least_context, "context")
        expect_share(self, "validation", "test")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs data to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )


@dataclass(frozen=True)
class TextRecipe(CorpusRecipe):
    """A transformer of a size of your choice, trained on text."""

    width: int = setting(128, FIRST)
    """width of the residual stream"""
    depth: int = setting(2, FIRST)
    """layers"""
    heads: int = 4
    """attention heads"""
    dropout: float = 0.0
    """share of values dropped in training"""
    checkpointing: bool = False
    """recompute layers in backward: less memory, more time"""
    optimizer: Optimizer = "muon"
    """rule that turns gradients into steps"""
    rate: float = 1e-2
    """full learning rate of AdamW"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads")
        expect_share(self, "dropout")
        expect_heads(self)

    @override
    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), "
            f"context={self.context}, width={self.width} or depth={self.depth}"
            + ("" if self.checkpointing else ", or turn on checkpointing")
        )
