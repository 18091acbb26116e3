r"""`markov`: a Markov chain of your own text, by characters, bytes, words or BPE tokens; it learns by counting."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import FIRST, setting
from cutaway.recipes.texts.language_settings import LanguageRecipe, opening, write_sample
from cutaway.recipes.texts.text_settings import corpus_facts
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cutaway.data.batches import Window
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


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

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "order")
        if self.context < self.order:
            raise ValueError(
                f"context must be at least the order, got context={self.context}, order={self.order}; "
                f"try context={max(256, 4 * self.order)}"
            )

    def smaller(self) -> str:
        return f"lower order={self.order}: each order has its counts"

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import numpy as np
        import torch

        from cutaway.data.batches import Windows
        from cutaway.models import MarkovChain
        from cutaway.tasks.texts.markov_baseline import chain_loss
        from cutaway.training.jobs import Job

        corpus = self.dataset()
        corpus.expect_context(self.context)
        tokens = torch.from_numpy(corpus.train[:].astype(np.int64))
        model = MarkovChain.from_tokens(tokens, corpus.vocabulary, self.order, self.smoothing)
        start, held_out = opening(corpus), corpus.validation
        evaluate = lambda m: {} if held_out is None else {"loss": chain_loss(m, held_out)}
        return Job(
            model=model,
            batches=Windows(corpus.train, self.context, self.batch, self.seed, rank, world),
            objective=left_out_cost,
            evaluate=evaluate,
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: write_sample(m, corpus.tokenizer, start, self.sample_tokens),
            files={"tokenizer.json": corpus.tokenizer.save},
            data=corpus_facts(corpus, self.data),
            whole=evaluate,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.texts.markov_baseline import chain_loss

        return {"loss": chain_loss(run.model, self.dataset_of(run).open_test())}


def left_out_cost(model: "nn.Module", batch: "Window") -> "Tensor":
    """Mean −log p of the tokens of a batch, each as if it had not been counted."""
    import numpy as np
    import torch

    device = next(model.parameters()).device
    tokens = torch.from_numpy(np.concatenate([batch.tokens, batch.targets[:, -1:]], 1)).to(device)
    chain: Any = getattr(model, "module", model)  # inside the wrapper of several processes
    return chain.loss(tokens, left_out=True).mean()
