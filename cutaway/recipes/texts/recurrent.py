r"""`rnn`, `lstm` and `gru`: recurrent language models of your own text, by characters, bytes, words or BPE tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.recipes.base import Optimizer
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import FIRST, SCHEDULE, setting
from cutaway.recipes.texts.language_settings import LanguageRecipe, opening, write_sample
from cutaway.recipes.texts.text_settings import corpus_facts
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.token_files import Tokens
    from cutaway.models import RecurrentLMSpec
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job

ROWS = 32  # stretches of the validation text that are read side by side
WARM = 256  # tokens that each of them reads before its first prediction counts


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

    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), "
            f"context={self.context}, width={self.width} or depth={self.depth}"
        )

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.text.continued_windows import ContinuedWindows
        from cutaway.models import RecurrentLM
        from cutaway.tasks.texts.markov_baseline import markov_baseline
        from cutaway.training.carried_training import CarriedTraining
        from cutaway.training.jobs import Job

        corpus = self.dataset()
        corpus.expect_context(self.context)
        torch.manual_seed(self.seed)
        model = RecurrentLM(self.spec(corpus.vocabulary))
        start = opening(corpus)
        batches = sum(self.batches_per_step()(step) for step in range(self.steps))
        training = CarriedTraining(model, batches, self.scheduled_sampling)
        chain = markov_baseline(corpus)
        return Job(
            model=model,
            batches=ContinuedWindows(corpus.train, self.context, self.batch, self.jump, self.seed, rank, world),
            objective=training,
            evaluate=lambda m: carried_loss(m, corpus.validation, limit=self.evaluate_tokens),
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: write_sample(m, corpus.tokenizer, start, self.sample_tokens),
            files={"tokenizer.json": corpus.tokenizer.save},
            data=corpus_facts(corpus, self.data) | ({"baselines": chain} if chain else {}),
            whole=lambda m: carried_loss(m, corpus.validation),
            callbacks=[training],
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return carried_loss(run.model, self.dataset_of(run).open_test())


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


def carried_loss(model: "nn.Module", tokens: "Tokens | None", limit: int | None = None) -> dict[str, float]:
    """Mean −log p of every token but the first, the state carried along the text.

    The text is read in stretches side by side, each of which begins some tokens early to find its state. With a
    ``limit`` so many tokens are predicted, in stretches spread evenly over the text.
    """
    if tokens is None:
        return {}
    import numpy as np
    import torch

    from cutaway.models import CarriedState

    count = len(tokens) - 1  # to be predicted
    rows = max(1, min(ROWS, count // WARM))
    first = np.arange(rows) * count // rows
    last = np.minimum(np.append(first[1:], count), first + -(-min(limit or count, count) // rows))
    length = min(count, WARM + int((last - first).max()))
    begin = (first - WARM).clip(0, count - length)
    device = next(model.parameters()).device
    state, total = CarriedState(), 0.0
    with torch.no_grad():
        for step in range(0, length, WARM):
            x = torch.from_numpy(tokens.windows(begin + step, min(WARM, length - step) + 1)).to(device)
            logits, targets = model(x[:, :-1], state=state), x[:, 1:]
            losses = torch.nn.functional.cross_entropy(logits.mT.float(), targets, reduction="none")
            place = (begin + step)[:, None] + np.arange(targets.shape[1])
            counts = torch.from_numpy((place >= first[:, None]) & (place < last[:, None])).to(device)
            total += float(losses[counts].double().sum())
    return {"loss": total / int((last - first).sum())}
