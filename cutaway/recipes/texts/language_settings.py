r"""What the recipes of language models share: a text in three parts, samples at every evaluation, generation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import RESULTS, setting
from cutaway.recipes.texts.text_settings import CorpusRecipe, held_out
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.corpus import Corpus
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject


@dataclass(frozen=True)
class LanguageRecipe(CorpusRecipe):
    """A model that predicts the next token of a text, and writes."""

    abilities: ClassVar[tuple[Offer, ...]] = (Offer("generate"),)

    unit: ClassVar[str] = "nats a token"

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    evaluate_tokens: int = setting(20_000, RESULTS)
    """validation tokens used while training; the whole split is used at the end"""
    sample_tokens: int = setting(200, RESULTS)
    """tokens of the sample that is written at every evaluation; 0 for none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "evaluate_tokens")
        expect_at_least(self, 0, "sample_tokens")

    def dataset(self, tokenizer: Any = None) -> "Corpus":
        """The text in its three parts."""
        from cutaway.data.text.corpus import read_text

        kind = self.tokenizer if tokenizer is None else tokenizer
        return read_text(self.data, kind, self.validation, self.test, encoding=self.encoding)

    def generate(self, run: "Run", prompt: Any, **sampling: Any) -> str:
        from cutaway.models import generate_text

        return generate_text(run.model, prompt, tokenizer=run.tokenizer, **sampling)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.tasks.subjects import SHOWN, text_subject

        if given is not None:
            return text_subject(run, run.tokenizer.encode(given), "your text")
        tokens = held_out(self.dataset_of(run))
        return text_subject(run, tokens[: min(SHOWN, self.context)], "the beginning of the validation text")


def opening(corpus: "Corpus") -> list[int]:
    """What samples go on from: a line end, or the first token of a text that has none."""
    try:
        found = [int(i) for i in corpus.tokenizer.encode("\n")]
    except ValueError:
        found = []
    return found or [int(corpus.train[:1][0])]


def write_sample(model: "nn.Module", tokenizer: Any, start: list[int], tokens: int) -> dict[str, str]:
    """Text that the model writes by itself, the same for the same weights."""
    if not tokens:
        return {}
    from cutaway.models import generate

    text = tokenizer.decode(generate(model, start, tokens, temperature=0.8, seed=0)[0])
    return {"text.txt": text}


__all__ = ["LanguageRecipe", "opening", "write_sample"]
