r"""The task `language`: a language model goes on learning, from text of yours.

next tokens       cost = −mean log p(x_{t+1} | x_1 … x_t)       GPT-2, Llama and their like
masked tokens     cost = −mean log p(x_i | the rest)            BERT and its like; without a head for masked tokens, by
                                                                a new one (masked_heads.py)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tasks.texts.corpus import CorpusTask
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
    task_kind: ClassVar[str] = "texts/next_token"  # or texts/masked_tokens, by the base: `run.task.kind` says which
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 3, "context")
        expect_at_least(self, 1, "evaluate_tokens")
        expect_at_least(self, 0, "sample_tokens")
        if not 0 < self.masked < 1:
            raise ValueError(f"masked must be above 0 and below 1, got {self.masked}; try masked=0.15")

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import plain_texts

        return plain_texts(data)

    @override
    def read(self, base: Any = None) -> "CorpusTask":
        from cutaway.data.text.special_tokens import find_special_tokens
        from cutaway.tasks.texts.masked_tokens import MaskedTokens
        from cutaway.tasks.texts.next_token import NextToken
        from cutaway.tuning.masked_heads import may_read_masks

        tokenizer, spec = base.expect_tokenizer(), base.model.spec
        masked = may_read_masks(base.model)
        if masked:
            special = find_special_tokens(tokenizer)
            if max(special[:3]) >= spec.vocabulary:
                raise ValueError(
                    f"a model needs a vector for every special token, got number {max(special[:3]):,} and a "
                    f"vocabulary of {spec.vocabulary:,} in {base.path}; bring the tokenizer.json that it was trained "
                    "with"
                )
        elif getattr(base.model, "writes", "") != "continuations":
            raise ValueError(
                f"going on with language needs a head for next tokens, got {base.path}, a {type(base.model).__name__} "
                "without one; take the checkpoint of the language model itself, or choose another task"
            )
        else:
            self._expect_no_masks(base)
        task = MaskedTokens(self, tokenizer=tokenizer) if masked else NextToken(self, tokenizer=tokenizer)
        task.parts.expect_context(min(self.context, spec.context))
        task.parts.expect_tokens_below(spec.vocabulary)
        return task

    @override
    def task_of(self, run: "Run") -> "CorpusTask":
        """Masked tokens or next ones, by the head of the run's model; the text in the run's own tokens."""
        from cutaway.tasks.texts.masked_tokens import MaskedTokens
        from cutaway.tasks.texts.next_token import NextToken
        from cutaway.tuning.masked_heads import reads_masks

        kind = MaskedTokens if reads_masks(run.model) else NextToken
        return kind(self, run, run.tokenizer)

    def _expect_no_masks(self, base: "Base") -> None:
        """What says how to mask is nothing that a model of next tokens could follow."""
        for name in ("mask", "masked"):
            usual = type(self).__dataclass_fields__[name].default
            if (given := getattr(self, name)) != usual:
                raise ValueError(
                    f"{name} is for models that guess masked tokens, got {name}={given!r} for {base.path}, a "
                    f"{type(base.model).__name__} that guesses next ones; leave it out"
                )

    @override
    def headed(self, base: "Base", task: "CorpusTask") -> "nn.Module":
        from cutaway.tuning.masked_heads import may_read_masks, reads_masks, with_masked_head

        has_head = reads_masks(base.model) or not may_read_masks(base.model)
        return base.model if has_head else with_masked_head(base.model, task.parts.train)

    @override
    def learner_kind(self) -> Any:
        from cutaway.tuning.learners.language import language_learner

        return language_learner
