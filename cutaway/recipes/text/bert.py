r"""`bert`: a model that has read your text in both directions, and fills gaps in it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.base import Optimizer, Recipe
from cutaway.recipes.checks import expect_at_least, expect_heads, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.corpus import Corpus
    from cutaway.data.text.masking import Masking
    from cutaway.look.pages.picture import Picture
    from cutaway.models.specs.architectures import BERTSpec
    from cutaway.recipes.subjects import Subject
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class BERTRecipe(Recipe):
    """Trains a small BERT on text to fill gaps; its hidden states are vectors of words in their context.

    Of every stretch 15 % of the tokens are chosen; 80 % of these are masked, 10 % replaced, 10 % kept, and the model is
    to say what stood there. Heads start by looking at neighbours; else all is BERT's own, and `cutaway export` makes a
    checkpoint that transformers loads as BertForMaskedLM.
    """

    name: ClassVar[str] = "bert"
    quality: ClassVar[str] = (
        "35.5 % of the masked tokens of held-out documentation right, loss 3.66, after 1,000 steps (160 s of processor "
        "time). The most frequent token 6.9 %; counts of both neighbours 28.0 %, loss 4.15; transformers' "
        "BertForMaskedLM of the same size, with AdamW on the same batches, 15.2 %, loss 5.69. "
        "`python benchmarks/run.py filling` measures all of them."
    )
    unit: ClassVar[str] = "nats a masked token"
    input: ClassVar[str] = '"The [MASK] is returned."'

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    encoding: str = setting("utf-8", DATA)
    """of the text"""
    tokenizer: str = setting("bpe-2000", FIRST)
    """bpe, bpe-N for a vocabulary of N, characters, bytes, or the path of a tokenizer.json that has a mask"""
    validation: float = setting(0.05, DATA)
    """share of the text to evaluate on; 0 for none"""
    test: float = setting(0.05, DATA)
    """share of the text for `cutaway test`; 0 for none"""
    masked: float = setting(0.15, DATA)
    """share of the tokens that are to be guessed"""
    width: int = setting(128, FIRST)
    """of the residual stream"""
    depth: int = setting(2, FIRST)
    """layers"""
    heads: int = 4
    """of attention"""
    context: int = setting(32, FIRST)
    """tokens that the model sees at once, the marks at both ends among them"""
    dropout: float = 0.0
    """share of values dropped in training"""
    checkpointing: bool = False
    """recompute layers in backward: less memory, more time"""

    batch: int = 128
    """stretches of text in a batch; only the masked tokens teach, so it is large"""
    optimizer: Optimizer = "muon"
    """what makes steps of gradients"""
    rate: float = 1e-2
    """full learning rate of AdamW"""
    momentum: float = 0.9
    """how long Muon, momentum and Nesterov remember gradients"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens read while training; the whole split is used at the end"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads", "evaluate_tokens")
        expect_at_least(self, 3, "context")
        expect_share(self, "validation", "test", "dropout")
        if not 0 < self.masked < 1:
            raise ValueError(f"masked must be above 0 and below 1, got {self.masked}; try masked=0.15")
        expect_heads(self)
        if self.patience and not self.validation:
            raise ValueError(f"patience needs text to evaluate on, got patience={self.patience} with validation=0")

    def spec(self, vocabulary: int) -> "BERTSpec":
        """The model's design."""
        from cutaway.models.specs.architectures import BERTSpec, HeadSpec

        sizes = dict(width=self.width, depth=self.depth, heads=self.heads, context=self.context)
        spec = BERTSpec.bert(vocabulary=vocabulary, head=HeadSpec("masked"), dropout=self.dropout, **sizes)
        return spec.but(checkpointing=self.checkpointing)

    def corpus(self, tokenizer: Any = None) -> "Corpus":
        """The text in its three parts."""
        from cutaway.data.text.corpus import read_text

        kind = self.tokenizer if tokenizer is None else tokenizer
        return read_text(self.data, kind, self.validation, self.test, encoding=self.encoding, marks=True)

    def masking(self, corpus: "Corpus") -> "Masking":
        """How stretches of a text are masked."""
        from cutaway.data.text.masking import Masking
        from cutaway.data.text.special_tokens import find_marks

        return Masking(find_marks(corpus.tokenizer), corpus.vocabulary, self.context, self.masked)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.text.masking import GapBatches
        from cutaway.models import BERT
        from cutaway.recipes.text import masked_tokens
        from cutaway.recipes.text.neighbour_heads import start_nearby
        from cutaway.training.jobs import Job

        corpus = self.corpus()
        corpus.expect_context(self.context)
        how = self.masking(corpus)
        torch.manual_seed(self.seed)
        model = BERT(self.spec(corpus.vocabulary))
        start_nearby(model)
        held_out = corpus.train if corpus.validation is None else corpus.validation
        riddles = masked_tokens.choose_riddles(held_out, how)
        return Job(
            model=model,
            batches=GapBatches(corpus.train, how, self.batch, self.seed, rank, world),
            objective=masked_tokens.gap_cost,
            evaluate=lambda m: masked_tokens.gap_metrics(m, corpus.validation, how, self.evaluate_tokens),
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: masked_tokens.write_guesses(m, corpus.tokenizer, riddles),
            files={"tokenizer.json": corpus.tokenizer.save},
            data={"summary": corpus.summary(), "fingerprint": corpus.fingerprint.to_dict(), "source": self.data},
            whole=lambda m: masked_tokens.gap_metrics(m, corpus.validation, how),
        )

    def smaller(self) -> str:
        return (
            f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), "
            f"context={self.context}, width={self.width} or depth={self.depth}"
            + ("" if self.checkpointing else ", or turn on checkpointing")
        )

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        from cutaway.models import BERT, BERTSpec

        return BERT(BERTSpec.from_dict(config["spec"]))

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.recipes.text.masked_tokens import gap_metrics

        corpus = self._corpus_of(run)
        return gap_metrics(run.model, corpus.open_test(), self.masking(corpus))

    def _corpus_of(self, run: "Run") -> "Corpus":
        """The text of a run, which must be what it was, in the run's own tokens."""
        corpus = self.corpus()
        run.expect_same_data(corpus.fingerprint)
        return corpus if corpus.tokenizer.key == run.tokenizer.key else self.corpus(run.tokenizer)

    def read_inputs(self, source: str) -> list[str]:
        from cutaway.recipes.text.text_inputs import read_lines

        return read_lines(source, self.encoding)

    def predict(self, run: "Run", inputs: str | os.PathLike[str] | Sequence[str]) -> list[dict[str, Any]]:
        """For each [MASK] of a text, or of several, its five most probable fillings."""
        from cutaway.recipes.text.masked_tokens import fill_gaps
        from cutaway.recipes.text.text_inputs import as_texts

        return [guess._asdict() for guess in fill_gaps(run.model, run.tokenizer, as_texts(inputs))]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.recipes.subjects import text_subject, with_marks
        from cutaway.recipes.text.masked_tokens import choose_riddles

        if given is not None:
            return text_subject(run, with_marks(run.tokenizer, self.read_inputs(given)[0]), "your text")
        corpus = self._corpus_of(run)
        held_out = corpus.train if corpus.validation is None else corpus.validation
        (riddle,) = choose_riddles(held_out, self.masking(corpus), 1)
        return text_subject(run, riddle.ids, "the beginning of the validation text, with gaps")

    def pictures(self, run: "Run") -> "list[Picture]":
        from cutaway.recipes.text.masked_tokens import choose_riddles, gaps_picture

        corpus = self._corpus_of(run)
        held_out = corpus.train if corpus.validation is None else corpus.validation
        (riddle,) = choose_riddles(held_out, self.masking(corpus), 1)
        return [gaps_picture(run.model, corpus.tokenizer, riddle)]
