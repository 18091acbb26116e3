r"""`bert`: a model that reads text in both directions, and guesses masked tokens of it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, RESULTS, setting
from cutaway.recipes.texts.text_settings import TextRecipe, corpus_facts, held_out
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.data.text.corpus import Corpus
    from cutaway.data.text.masking import Masking
    from cutaway.models.specs.architectures import BERTSpec
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job


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

    def dataset(self, tokenizer: Any = None) -> "Corpus":
        """The text in its three parts."""
        from cutaway.data.text.corpus import read_text

        kind = self.tokenizer if tokenizer is None else tokenizer
        return read_text(self.data, kind, self.validation, self.test, encoding=self.encoding, special_tokens=True)

    def masking(self, corpus: "Corpus") -> "Masking":
        """How stretches of a text are masked."""
        from cutaway.data.text.masking import Masking
        from cutaway.data.text.special_tokens import find_special_tokens
        from cutaway.data.text.word_starts import word_table

        special = find_special_tokens(corpus.tokenizer)
        words = None if self.mask == "tokens" else word_table(corpus.tokenizer)
        return Masking(special, corpus.vocabulary, self.context, self.masked, self.mask, words)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.text.masking import MaskedBatches
        from cutaway.models import BERT
        from cutaway.tasks.texts import masked_tokens
        from cutaway.tasks.texts.neighbour_heads import start_nearby
        from cutaway.training.jobs import Job

        corpus = self.dataset()
        corpus.expect_context(self.context)
        masking = self.masking(corpus)
        torch.manual_seed(self.seed)
        model = BERT(self.spec(corpus.vocabulary))
        start_nearby(model)
        samples = masked_tokens.masked_samples(held_out(corpus), masking)
        return Job(
            model=model,
            batches=MaskedBatches(corpus.train, masking, self.batch, self.seed, rank, world),
            objective=masked_tokens.masked_cost,
            evaluate=lambda m: masked_tokens.masked_metrics(m, corpus.validation, masking, self.evaluate_tokens),
            units=self.batch * self.context,
            unit="tokens",
            samples=lambda m: masked_tokens.write_guesses(m, corpus.tokenizer, samples),
            files={"tokenizer.json": corpus.tokenizer.save},
            data=corpus_facts(corpus, self.data),
            whole=lambda m: masked_tokens.masked_metrics(m, corpus.validation, masking),
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.texts.masked_tokens import masked_metrics

        corpus = self.dataset_of(run)
        return masked_metrics(run.model, corpus.open_test(), self.masking(corpus))

    def predict(self, run: "Run", inputs: str | os.PathLike[str] | Sequence[str]) -> list[dict[str, Any]]:
        """For each [MASK] of a text, or of several, its five most probable fillings."""
        from cutaway.tasks.texts.masked_tokens import fill_masks
        from cutaway.tasks.texts.text_inputs import as_texts

        return [guess._asdict() for guess in fill_masks(run.model, run.tokenizer, as_texts(inputs))]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.tasks.subjects import text_subject, with_marks
        from cutaway.tasks.texts.masked_tokens import masked_samples

        if given is not None:
            from cutaway.tasks.texts.text_inputs import first_line

            return text_subject(run, with_marks(run.tokenizer, first_line(given, self.encoding)), "your text")
        corpus = self.dataset_of(run)
        (sample,) = masked_samples(held_out(corpus), self.masking(corpus), 1)
        return text_subject(run, sample.ids, "the beginning of the validation text, with masked tokens")
