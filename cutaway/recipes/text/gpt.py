r"""`gpt`: a language model of your own text, by characters, bytes or BPE tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Optimizer, Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cutaway.data.batches import Window
    from cutaway.data.text.corpus import Corpus
    from cutaway.data.text.token_files import Tokens
    from cutaway.look.pages.picture import Picture
    from cutaway.models.specs.architectures import GPTSpec
    from cutaway.recipes.subjects import Subject
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job

_SHOWN = 64  # tokens of an attention map: what a page can show


@dataclass(frozen=True)
class GPTRecipe(Recipe):
    """Trains a small GPT on text and lets it write.

    The default design, "quick", has rotary positions, normed queries and keys, ReLU², and outputs that start at zero.
    """

    name: ClassVar[str] = "gpt"
    unit: ClassVar[str] = "nats a token"
    quality: ClassVar[str] = (
        "The preset small on tinyshakespeare, by characters: validation loss 1.86 in 15 s on two cores; nanoGPT's CPU "
        "quick start, of the same size: 1.90 in 82 s. `python benchmarks/run.py race` measures it."
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
    encoding: str = setting("utf-8", DATA)
    """of the text"""
    tokenizer: str = setting("characters", FIRST)
    """characters, bytes, bpe, bpe-N for a vocabulary of N, or the path of a tokenizer.json"""
    validation: float = setting(0.05, DATA)
    """share of the text to evaluate on; 0 for none"""
    test: float = setting(0.05, DATA)
    """share of the text for `cutaway test`; 0 for none"""
    design: Literal["quick", "gpt2", "llama"] = "quick"
    """how the model is built"""
    width: int = setting(128, FIRST)
    """of the residual stream"""
    depth: int = setting(4, FIRST)
    """layers"""
    heads: int = 4
    """of attention"""
    context: int = setting(128, FIRST)
    """tokens that the model sees at once"""
    dropout: float = 0.0
    """share of values dropped in training"""
    checkpointing: bool = False
    """recompute layers in backward: less memory, more time"""

    steps: int = 800
    """optimizer steps"""
    batch: int = 16
    """stretches of text in a batch"""
    optimizer: Optimizer = "muon"
    """what makes steps of gradients"""
    rate: float = 1e-2
    """full learning rate of AdamW"""
    muon_rate: float = 0.02
    """full learning rate of the matrices that Muon trains"""
    momentum: float = 0.9
    """how long Muon, momentum and Nesterov remember gradients"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens used while training; the whole split is used at the end"""
    sample_tokens: int = setting(200, RESULTS)
    """tokens of the sample that is written at every evaluation; 0 for none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads", "context", "evaluate_tokens")
        expect_at_least(self, 0, "sample_tokens")
        expect_share(self, "validation", "test", "dropout")
        if self.width % self.heads:
            ways = [n for n in range(1, self.width + 1) if self.width % n == 0]
            near = min(ways, key=lambda n: abs(n - self.heads))
            raise ValueError(
                f"width must be a multiple of heads, got width={self.width}, heads={self.heads}; try heads={near}"
            )
        if self.patience and not self.validation:
            raise ValueError(f"patience needs text to evaluate on, got patience={self.patience} with validation=0")

    def spec(self, vocabulary: int) -> "GPTSpec":
        """The model's design."""
        from cutaway.models.specs.architectures import GPTSpec

        make: Any = {"quick": GPTSpec.quick, "gpt2": GPTSpec.gpt2, "llama": GPTSpec.llama}[self.design]
        spec = make(vocabulary=vocabulary, width=self.width, depth=self.depth, heads=self.heads, context=self.context)
        return spec.but(dropout=self.dropout, attention__dropout=self.dropout, checkpointing=self.checkpointing)

    def corpus(self, tokenizer: Any = None) -> "Corpus":
        """The text in its three parts."""
        from cutaway.data.text.corpus import read_text

        kind = self.tokenizer if tokenizer is None else tokenizer
        return read_text(self.data, kind, self.validation, self.test, encoding=self.encoding)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.batches import Windows
        from cutaway.models import GPT
        from cutaway.training.jobs import Job

        corpus = self.corpus()
        corpus.expect_context(self.context)
        torch.manual_seed(self.seed)
        model = GPT(self.spec(corpus.vocabulary))
        if self.design == "quick":
            start_quietly(model)
        start = opening(corpus)
        return Job(
            model=model,
            batches=Windows(corpus.train, self.context, self.batch, self.seed, rank, world),
            objective=next_token_cost,
            evaluate=lambda m: text_loss(m, corpus.validation, self.context, limit=self.evaluate_tokens),
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: write_sample(m, corpus.tokenizer, start, self.sample_tokens),
            files={"tokenizer.json": corpus.tokenizer.save},
            data={"summary": corpus.summary(), "fingerprint": corpus.fingerprint.to_dict(), "source": self.data},
            whole=lambda m: text_loss(m, corpus.validation, self.context),
        )

    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), "
            f"context={self.context}, width={self.width} or depth={self.depth}"
            + ("" if self.checkpointing else ", or turn on checkpointing")
        )

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        from cutaway.models import GPT, GPTSpec

        return GPT(GPTSpec.from_dict(config["spec"]))

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return text_loss(run.model, self._corpus_of(run).open_test(), self.context)

    def _corpus_of(self, run: "Run") -> "Corpus":
        """The text of a run, which must be what it was, in the run's own tokens."""
        corpus = self.corpus()
        run.expect_same_data(corpus.fingerprint)
        # The same settings make the same tokenizer of the same text, unless its library has learned something new.
        return corpus if corpus.tokenizer.key == run.tokenizer.key else self.corpus(run.tokenizer)

    def generate(self, run: "Run", prompt: str, **how: Any) -> str:
        from cutaway.models import generate_text

        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **how)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.recipes.subjects import SHOWN, text_subject

        if given is not None:
            return text_subject(run, run.tokenizer.encode(given), "your text")
        corpus = self._corpus_of(run)
        tokens = corpus.train if corpus.validation is None else corpus.validation
        return text_subject(run, tokens[: min(SHOWN, self.context)], "the beginning of the validation text")

    def pictures(self, run: "Run") -> "list[Picture]":
        corpus = self._corpus_of(run)
        tokens = corpus.train if corpus.validation is None else corpus.validation
        return [attention_picture(run.model, tokens, corpus.tokenizer, min(self.context, _SHOWN))]


def start_quietly(model: "nn.Module") -> None:
    """Zeros the maps back into the residual stream and the last one: layers start as the identity, guesses as even."""
    import torch

    for block in model.blocks:  # type: ignore[union-attr]
        torch.nn.init.zeros_(block.attention.out.weight)
        torch.nn.init.zeros_(block.mlp.down.weight)
    torch.nn.init.zeros_(model.unembed.weight)  # type: ignore[union-attr, arg-type]


def next_token_cost(model: "nn.Module", batch: "Window") -> "Tensor":
    """Mean of −log p(x_{t+1} | x_1 … x_t) over the batch, in nats."""
    import torch

    tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
    device = next(model.parameters()).device
    logits = model(tokens.to(device))
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.to(device).flatten())


def text_loss(model: "nn.Module", tokens: "Tokens | None", context: int, limit: int | None = None) -> dict[str, float]:
    """Mean −log p of every token in windows side by side; with a ``limit``, of windows spread evenly over the text."""
    if tokens is None:
        return {}
    import torch

    total = count = 0.0
    with torch.no_grad():
        for window in _windows(tokens, context, limit):
            n = window.targets.size
            total += next_token_cost(model, window).item() * n
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


def opening(corpus: "Corpus") -> list[int]:
    """What samples go on from: a line end, or the first token of a text that has none."""
    try:
        return [int(i) for i in corpus.tokenizer.encode("\n")]
    except ValueError:
        return [int(corpus.train[:1][0])]


def write_sample(model: "nn.Module", tokenizer: Any, start: list[int], tokens: int) -> dict[str, str]:
    """Text that the model writes by itself, the same for the same weights."""
    if not tokens:
        return {}
    from cutaway.models import generate

    text = tokenizer.decode(generate(model, start, tokens, temperature=0.8, seed=0)[0])
    return {"text.txt": text}


def attention_picture(model: "nn.Module", text: "Tokens", tokenizer: Any, length: int) -> "Picture":
    """Where every head looks, over the first tokens of a text."""
    import torch

    from cutaway.inside.tracing import trace
    from cutaway.look import attention_grid

    ids = [int(i) for i in text[:length]]
    with torch.no_grad(), trace(model, "blocks.*.attention.weights") as seen:
        model(torch.tensor([ids], device=next(model.parameters()).device))
    weights = {address: seen[address][0].cpu() for address in seen}
    title = f"Attention of every head over {len(ids)} tokens that it was not trained on"
    return attention_grid(weights, [tokenizer.decode([i]) for i in ids], title=title)
