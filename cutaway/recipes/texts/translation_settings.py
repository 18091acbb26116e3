r"""What the recipes of encoder–decoders share: pairs of texts in three parts, and translation by beam search."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import FIRST, RESULTS, setting
from cutaway.recipes.texts.text_settings import CorpusRecipe, held_out
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.pairs import Pairs
    from cutaway.data.text.token_rows import TokenPairs
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

_TRANSLATED = 2000  # validation sources translated at the end
_SAMPLES = 8  # of them at every evaluation


@dataclass(frozen=True)
class TranslationRecipe(CorpusRecipe):
    """A model that answers a text with a text, learned from pairs with a tab between source and target."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("generate"),
        Offer("predict", takes="lines.txt", gives="texts in; translations out"),
    )

    unit: ClassVar[str] = "nats a target token"

    least_context: ClassVar[int] = 3  # a token between two special ones

    data: str = "dates"
    """a file of lines, source, tab, target; or the name of an embedded sample (`cutaway list data`)"""
    tokenizer: str = "bpe-8000"
    """bpe-N for one vocabulary of up to N for both sides, or the path of a tokenizer.json"""
    validation: float = 0.02
    """share of the pairs to evaluate on; 0 for none"""
    test: float = 0.02
    """share of the pairs for `cutaway test`; 0 for none"""
    context: int = setting(128, FIRST)
    """longest text, in tokens; pairs with longer ones are left out"""
    smoothing: float = 0.1
    """share of the target that is spread over all tokens in training, whose loss is the higher for it"""
    beams: int = 4
    """beginnings kept while searching for a translation; 1 takes the most probable token always"""

    evaluate_pairs: int = setting(500, RESULTS)
    """validation pairs used while training; the whole split is used at the end"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "beams", "evaluate_pairs")
        expect_share(self, "smoothing")

    def build(self, vocabulary: int) -> "nn.Module":
        """The new model, for a vocabulary that begins with <pad>, <start> and <end>."""
        raise self._cannot("be trained")

    def dataset(self, tokenizer: Any = None) -> "Pairs":
        """The pairs in their three parts."""
        from cutaway.data.text.pairs import read_pairs

        kind = self.tokenizer if tokenizer is None else tokenizer
        return read_pairs(self.data, kind, self.validation, self.test, encoding=self.encoding)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.text.token_rows import PairBatches
        from cutaway.tasks.texts import translate as translation
        from cutaway.training.jobs import Job

        pairs = self.dataset()
        train, left_out = self._within(pairs.train, pairs.name)
        validation = None if pairs.validation is None else self._within(pairs.validation, pairs.name)[0]
        torch.manual_seed(self.seed)
        model = self.build(pairs.vocabulary)
        note = f"\nleft out: {left_out:,} training pairs longer than {self.context} tokens" if left_out else ""
        tasks = translation.tasks_of(train if validation is None else validation, pairs.tokenizer, _SAMPLES)
        return Job(
            model=model,
            batches=PairBatches(train, self.batch, self.seed, rank, world),
            objective=translation.translation_cost(self.smoothing),
            evaluate=lambda m: translation.pair_metrics(m, validation, self.evaluate_pairs),
            units=self.batch,
            unit="pairs",
            samples=lambda m: translation.write_translations(m, pairs.tokenizer, tasks),
            files={"tokenizer.json": pairs.tokenizer.save},
            data={"summary": pairs.summary() + note, "fingerprint": pairs.fingerprint.to_dict(), "source": self.data},
            whole=lambda m: translation.translation_metrics(m, validation, pairs.tokenizer, _TRANSLATED),
        )

    def _within(self, pairs: "TokenPairs", name: str) -> "tuple[TokenPairs, int]":
        """The pairs that the model has room for, and how many it has not."""
        kept = pairs.within(self.context)
        if not len(kept):
            longest = max(pairs.source.lengths.max(), pairs.target.lengths.max())
            raise ValueError(
                f"the context must hold some of the pairs, got context={self.context} and only longer ones in {name}; "
                f"try context={longest}"
            )
        return kept, len(pairs) - len(kept)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.texts.translate import translation_metrics

        pairs = self.dataset_of(run)
        return translation_metrics(run.model, self._within(pairs.open_test(), pairs.name)[0], pairs.tokenizer)

    def generate(self, run: "Run", prompt: str, tokens: int | None = None, **sampling: Any) -> str:
        """The translation of a prompt: by beam search, or drawn if ``sampling`` is given (temperature, top_k …)."""
        from cutaway.models.generation.sampling import as_sampling
        from cutaway.models.generation.texts import as_stops
        from cutaway.models.generation.token_streams import expect_count
        from cutaway.tasks.texts.translate import translate

        stops = as_stops(sampling.pop("stop", ()))
        beams = sampling.pop("beams", 1 if sampling.keys() - {"speculate"} else self.beams)
        if not isinstance(prompt, str):
            raise ValueError(f"a text to translate must be a text, got {prompt!r}; give a sentence")
        expect_count(tokens=1 if tokens is None else tokens, beams=beams)
        as_sampling({name: value for name, value in sampling.items() if name != "speculate"})
        text = translate(run.model, run.tokenizer, [prompt], beams, tokens, **sampling)[0]
        ends = [text.find(one) for one in stops if one in text]
        return text[: min(ends, default=len(text))]

    def predict(self, run: "Run", inputs: str | os.PathLike[str] | Sequence[str]) -> list[dict[str, str]]:
        """The translation of a text, or of several."""
        from cutaway.tasks.texts.text_inputs import as_texts
        from cutaway.tasks.texts.translate import translate

        texts = as_texts(inputs)
        asked = [text for text in texts if text] or texts  # an empty line of a file has an empty translation
        written = dict(zip(asked, translate(run.model, run.tokenizer, asked, self.beams), strict=True))
        return [{"source": text, "translation": written.get(text, "")} for text in texts]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        import numpy as np

        from cutaway.tasks.subjects import pair_subject, subject_by_model
        from cutaway.tasks.texts.text_inputs import first_line
        from cutaway.tasks.texts.translate import choose_pair

        if given is not None:
            return subject_by_model(run, first_line(given, self.encoding))
        pairs = self.dataset_of(run)
        chosen, _ = self._within(held_out(pairs), pairs.name)
        batch = chosen.batch(np.array([choose_pair(chosen)]))
        return pair_subject(run, batch.source[0], batch.target[0, :-1], "a pair that it was not trained on")
