r"""`gpt`: a language model of your own text, by characters, bytes or BPE tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.texts.language_settings import LanguageRecipe, opening, write_sample
from cutaway.recipes.texts.text_settings import TextRecipe, corpus_facts
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cutaway.data.batches import Window
    from cutaway.data.text.token_files import Tokens
    from cutaway.models.specs.architectures import GPTSpec
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


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

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.batches import Windows
        from cutaway.models import GPT
        from cutaway.training.jobs import Job

        corpus = self.dataset()
        corpus.expect_context(self.context)
        torch.manual_seed(self.seed)
        model = GPT(self.spec(corpus.vocabulary))
        if self.design == "quick":
            start_quietly(model)
        start = opening(corpus)
        return Job(
            model=model,
            batches=Windows(corpus.train, self.context, self.batch, self.seed, rank, world),
            objective=partial(next_token_cost, prefix=self.prefix) if self.prefix else next_token_cost,
            evaluate=lambda m: text_loss(m, corpus.validation, self.context, self.evaluate_tokens, self.prefix),
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: write_sample(m, corpus.tokenizer, start, self.sample_tokens),
            files={"tokenizer.json": corpus.tokenizer.save},
            data=corpus_facts(corpus, self.data),
            whole=lambda m: text_loss(m, corpus.validation, self.context, prefix=self.prefix),
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return text_loss(run.model, self.dataset_of(run).open_test(), self.context, prefix=self.prefix)


def start_quietly(model: "nn.Module") -> None:
    """Zeros the maps back into the residual stream and the last one: layers start as the identity, guesses as even."""
    import torch

    from cutaway.models.transformers.construction import residual_writers

    for end in [*residual_writers(model), model.unembed]:
        torch.nn.init.zeros_(end.weight)  # type: ignore[union-attr, arg-type]


def next_token_cost(model: "nn.Module", batch: "Window", prefix: int = 0) -> "Tensor":
    """Mean of −log p(x_{t+1} | x_1 … x_t) over the batch, in nats; a prefix is given, and only what follows counts."""
    import torch

    from cutaway.blocks.losses.linear_cross_entropy import score_losses
    from cutaway.training.adapters.records import unwrapped

    tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
    device = next(model.parameters()).device
    tokens, targets = tokens.to(device), targets.to(device)
    given: dict[str, Any] = {"prefix": prefix} if prefix else {}
    if hasattr(unwrapped(model), "losses"):
        losses = model(tokens, **given, targets=targets)
    else:
        losses = score_losses(model(tokens, **given), targets)
    return losses[:, max(prefix - 1, 0) :].mean()


def text_loss(
    model: "nn.Module", tokens: "Tokens | None", context: int, limit: int | None = None, prefix: int = 0
) -> dict[str, float]:
    """Mean −log p of every token in windows side by side; with a ``limit``, of windows spread evenly over the text.

    Of each window, the tokens of its ``prefix`` are given and not predicted.
    """
    if tokens is None:
        return {}
    import torch

    total = count = 0.0
    with torch.no_grad():
        for window in _windows(tokens, context, limit):
            n = window.targets[:, max(prefix - 1, 0) :].size
            if not n:  # the rest of a text, shorter than the prefix
                continue
            total += next_token_cost(model, window, prefix).item() * n
            count += n
    return {"loss": total / count}


def _windows(tokens: "Tokens", context: int, limit: int | None, batch: int = 32) -> "Iterator[Window]":
    import numpy as np

    from cutaway.data.batches import Window, every_window

    whole = (len(tokens) - 1) // context
    wanted = whole if limit is None else max(1, limit // context)
    if wanted >= whole:
        yield from every_window(tokens, context, batch)
        return
    starts = np.arange(wanted) * whole // wanted * context
    for first in range(0, wanted, batch):
        x = tokens.windows(starts[first : first + batch], context + 1)
        yield Window(x[:, :-1], x[:, 1:])
