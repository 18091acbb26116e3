r"""The task `language`: a language model goes on learning, from text of yours.

next tokens       cost = −mean log p(x_{t+1} | x_1 … x_t)       GPT-2, Llama and their like
masked tokens     cost = −mean log p(x_i | the rest)            BERT and its like; without a head for masked tokens, by
                                                                a new one (masked_heads.py)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.corpus import Corpus
    from cutaway.data.text.masking import Masking
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base


def _no_generate(run: "Run") -> str:
    """Models of masked tokens predict, those of next tokens generate."""
    from cutaway.tuning.masked_heads import reads_masks

    return "its model fills masks, and does not write" if reads_masks(run.model) else ""


def _no_predict(run: "Run") -> str:
    return "" if _no_generate(run) else "its model writes, and fills no masks"


@dataclass(frozen=True)
class TunedLanguageRecipe(TunedRecipe):
    """Lets a language model go on learning from text of yours: next tokens, or masked ones for a BERT.

    A BERT without a head for masked tokens, such as one that was trained for sentence vectors, is given a new one,
    which learns beside LoRA or adapters; `cutaway embed` pools its vectors as before.
    """

    name: ClassVar[str] = "tuned-language"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("generate", refuses=_no_generate),
        Offer(
            "predict",
            takes='"The [MASK] is returned."',
            gives="of a BERT: texts with [MASK] in; the five most probable fillings of each out",
            refuses=_no_predict,
        ),
    )
    task: ClassVar[str] = "language"
    quality: ClassVar[str] = (
        "A small `gpt` of characters, trained for a minute on the King James Bible, goes on with Shakespeare's plays "
        "for 150 steps (20 s of one core): validation loss 2.86 before, 2.00 by LoRA, 2.02 with all weights. MiniLM "
        "(all-MiniLM-L6-v2), which has no head for tokens, on film reviews, 120 steps of LoRA, 64 tokens at once "
        "(88 s): loss of masked tokens 7.10 before, 5.90 after (token counts 6.98), 18.4 % of them right (4.8 %)."
    )
    head_learns: ClassVar[bool] = False
    unit: ClassVar[str] = "nats a token"

    data: str = setting("", FIRST, "PATH")
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    context: int = setting(128, FIRST)
    """tokens that the model is trained on at once"""
    masked: float = setting(0.15, DATA)
    """of a BERT: share of the tokens that are to be guessed"""
    mask: Literal["tokens", "words", "spans"] = setting("tokens", DATA)
    """of a BERT: what is masked: single tokens, whole words, or spans of 1 to 10 words (3.8 on average)"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the text"""
    validation: float = setting(0.05, DATA)
    """share of the text to evaluate on; 0 for none"""
    test: float = setting(0.05, DATA)
    """share of the text for `cutaway test`; 0 for none"""
    batch: int = 8
    """stretches of text in a batch"""
    epochs: float = setting(1.0, FIRST)
    """how often every token is seen; 0 for 3 times"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens used while training; the whole split is used at the end"""
    sample_tokens: int = setting(100, RESULTS)
    """tokens of the sample that is written at every evaluation; 0 for none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 3, "context")
        expect_at_least(self, 1, "evaluate_tokens")
        expect_at_least(self, 0, "sample_tokens")
        if not 0 < self.masked < 1:
            raise ValueError(f"masked must be above 0 and below 1, got {self.masked}; try masked=0.15")

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import plain_texts

        return plain_texts(data)

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, base: "Base") -> "Corpus":
        from cutaway.data.text.special_tokens import find_special_tokens
        from cutaway.tuning.masked_heads import may_read_masks

        tokenizer = base.expect_tokenizer()
        if may_read_masks(base.model):
            special, vocabulary = find_special_tokens(tokenizer), base.model.spec.vocabulary
            if max(special[:3]) >= vocabulary:
                raise ValueError(
                    f"a model needs a vector for every special token, got number {max(special[:3]):,} and a "
                    f"vocabulary of {vocabulary:,} in {base.path}; bring the tokenizer.json that it was trained with"
                )
        elif getattr(base.model, "writes", "") != "continuations":
            raise ValueError(
                f"going on with language needs a head for next tokens, got {base.path}, a {type(base.model).__name__} "
                "without one; take the checkpoint of the language model itself, or choose another task"
            )
        else:
            self._expect_no_masks(base)
        corpus = self.corpus(tokenizer)
        corpus.expect_context(self.room(base.model))
        corpus.expect_tokens_below(base.model.spec.vocabulary)
        return corpus

    def _expect_no_masks(self, base: "Base") -> None:
        """What says how to mask is nothing that a model of next tokens could follow."""
        for name in ("mask", "masked"):
            usual = type(self).__dataclass_fields__[name].default
            if (given := getattr(self, name)) != usual:
                raise ValueError(
                    f"{name} is for models that guess masked tokens, got {name}={given!r} for {base.path}, a "
                    f"{type(base.model).__name__} that guesses next ones; leave it out"
                )

    def headed(self, base: "Base", data: "Corpus") -> "nn.Module":
        from cutaway.tuning.masked_heads import may_read_masks, reads_masks, with_masked_head

        has_head = reads_masks(base.model) or not may_read_masks(base.model)
        return base.model if has_head else with_masked_head(base.model, data.train)

    def corpus(self, tokenizer: Any) -> "Corpus":
        from cutaway.data.text.corpus import read_text

        return read_text(self.data, tokenizer, self.validation, self.test, encoding=self.encoding)

    def room(self, model: Any) -> int:
        """Tokens that are read at once."""
        return min(self.context, model.spec.context)

    def count(self, data: "Corpus") -> int:
        return max(1, data.counts["train"] // self.context)

    def masking(self, model: Any, tokenizer: Any) -> "Masking":
        """How stretches of a text are masked."""
        from cutaway.data.text.masking import Masking
        from cutaway.data.text.special_tokens import find_special_tokens
        from cutaway.data.text.word_starts import word_table

        special = find_special_tokens(tokenizer)
        vocabulary = min(tokenizer.vocabulary, model.spec.vocabulary)
        words = None if self.mask == "tokens" else word_table(tokenizer)
        return Masking(special, vocabulary, self.room(model), self.masked, self.mask, words)

    def task_job(self, model: "nn.Module", base: "Base", data: "Corpus", rank: int, world: int) -> "Job":
        from cutaway.recipes.texts.text_settings import corpus_facts
        from cutaway.training.jobs import Job
        from cutaway.tuning.masked_heads import reads_masks

        room = self.room(model)
        own = self._masked_job if reads_masks(model) else self._next_job
        return Job(
            model=model,
            units=self.batch * room,
            unit="tokens",
            data=corpus_facts(data, self.data),
            **own(model, data, rank, world),
        )

    def _next_job(self, model: Any, data: "Corpus", rank: int, world: int) -> dict[str, Any]:
        from cutaway.data.batches import Windows
        from cutaway.recipes.texts.gpt import next_token_cost, text_loss
        from cutaway.recipes.texts.language_settings import opening, write_sample
        from cutaway.tuning.batch_parts import window_parts

        room, start = self.room(model), opening(data)
        return {
            "batches": Windows(data.train, room, self.batch, self.seed, rank, world),
            "objective": next_token_cost,
            "parts": window_parts(model) if world == 1 else None,
            "evaluate": lambda m: text_loss(m, data.validation, room, self.evaluate_tokens),
            "whole": lambda m: text_loss(m, data.validation, room),
            "samples": lambda m: write_sample(m, data.tokenizer, start, self.sample_tokens),
        }

    def _masked_job(self, model: Any, data: "Corpus", rank: int, world: int) -> dict[str, Any]:
        from cutaway.data.text.masking import MaskedBatches
        from cutaway.recipes.texts.text_settings import held_out
        from cutaway.tasks.texts.masked_tokens import masked_cost, masked_metrics, masked_samples, write_guesses

        masking = self.masking(model, data.tokenizer)
        samples = masked_samples(held_out(data), masking)
        return {
            "batches": MaskedBatches(data.train, masking, self.batch, self.seed, rank, world),
            "objective": masked_cost,
            "evaluate": lambda m: masked_metrics(m, data.validation, masking, self.evaluate_tokens),
            "whole": lambda m: masked_metrics(m, data.validation, masking),
            "samples": lambda m: write_guesses(m, data.tokenizer, samples),
        }

    # ------------------------------------------------------------------------------------------------------------------

    def dataset_of(self, run: "Run") -> "Corpus":
        """The data of a run, which must be what it was."""
        corpus = self.corpus(run.tokenizer)
        run.expect_same_data(corpus.fingerprint)
        return corpus

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.recipes.texts.gpt import text_loss
        from cutaway.tasks.texts.masked_tokens import masked_metrics
        from cutaway.tuning.masked_heads import reads_masks

        tokens = self.dataset_of(run).open_test()
        if reads_masks(run.model):
            return masked_metrics(run.model, tokens, self.masking(run.model, run.tokenizer))
        return text_loss(run.model, tokens, self.room(run.model))

    def generate(self, run: "Run", prompt: Any, **sampling: Any) -> str:
        from cutaway.models import generate_text

        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **sampling)

    def read_inputs(self, source: str) -> list[str]:
        from cutaway.tasks.texts.text_inputs import read_lines

        return read_lines(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """For each mask of a text, or of several, its most probable fillings."""
        from cutaway.tasks.texts.masked_tokens import fill_masks
        from cutaway.tasks.texts.text_inputs import as_texts
        from cutaway.tuning.masked_heads import reads_masks

        if not reads_masks(run.model):
            raise ValueError(
                f"a model of next tokens writes, got {run.path} to predict with; use `cutaway generate {run.path}`"
            )
        return [guess._asdict() for guess in fill_masks(run.model, run.tokenizer, as_texts(inputs))]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.recipes.texts.text_settings import held_out
        from cutaway.tasks.subjects import SHOWN, subject_by_model, text_subject
        from cutaway.tuning.masked_heads import reads_masks

        if given is not None or reads_masks(run.model):
            return subject_by_model(run, given)
        tokens = held_out(self.dataset_of(run))
        return text_subject(run, tokens[: min(SHOWN, self.room(run.model))], "the beginning of the validation text")
