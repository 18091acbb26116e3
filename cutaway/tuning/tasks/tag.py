r"""The task `tag`: a tag for every word of a sentence, by a trained model of text."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import TOGETHER, expect_same_parts, kept_together
from cutaway.tuning.settings import TunedRecipe, features_in_words

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.text.lexicon import Lexicon
    from cutaway.data.text.tagged_sentences import Tagged, TaggedText
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.tasks.texts.tag import Probabilities
    from cutaway.tasks.texts.tagged_output import TaggedOutput
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.tagged_rows import TaggedRows

LEXICON = "lexicon.json"
_HEAD_RATE = 1e-2  # 83.4 % of held-out words right, 81.8 % at 3e-3 (EWT, 800 sentences, MiniLM)
_SAMPLES = 8  # sentences tagged at every evaluation


@dataclass(frozen=True)
class TunedTagsRecipe(TunedRecipe):
    """Tunes a model of text to give every word a tag: parts of speech, names, roles.

    Words fall into the pieces of the model's vocabulary; what it makes of the first piece of a word says its tag.
    """

    name: ClassVar[str] = "tuned-tag"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="text.conllu",
            gives="texts or CoNLL-U in; a tag for every word out; CoNLL-U comes back with its tags put in",
            formats=(".conllu",),
        ),
    )
    task: ClassVar[str] = "tag"
    least_steps: ClassVar[int] = 60
    quality: ClassVar[str] = (
        "MiniLM (all-MiniLM-L6-v2) on 800 sentences of English EWT, --head-only, 17 s of one core: 83.4 % of the words "
        "of 400 held-out sentences right, 75.5 % of those not seen in training (the most frequent tag of each word: "
        "82.4 % and 48.4 %). On 800 others, LoRA, one epoch, 49 s: 90.9 % (68.3 % without --fit-head). All sentences "
        "are not measured."
    )
    unit: ClassVar[str] = "nats a word"

    data: str = setting("", FIRST, "PATH")
    """a CoNLL-U file, a file of word<TAB>tag, a folder with train, dev and test files, or an embedded sample"""
    column: str = setting("", FIRST)
    """what to learn: upos, xpos, feats, deprel, a key such as feats:Tense or misc:NER, or the number of a plain column
    (default: upos; of plain columns the last)"""
    fit_head: bool = setting(True, OPTIMIZER)
    """fit the new head to the features of the base before anything else learns, C by cross-validation; of a head alone,
    this is all there is to learn, unless steps, epochs or a rate are given"""
    validation_file: str = setting("", DATA, "PATH")
    """a file of validation sentences of its own, instead of a share"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test sentences of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the text"""
    splitting: Literal["auto", "words", "spaces", "python"] = setting("auto", DATA)
    """how texts that you give later are split into words: punctuation apart, at spaces, or as Python's tokens; auto is
    python for the sample python-roles, else words"""
    context: int = setting(256, FIRST)
    """tokens that are read at once; longer sentences are read in pieces"""

    def __post_init__(self) -> None:
        super().__post_init__()
        from cutaway.data.text.conllu import expect_column

        expect_at_least(self, 3, "context")
        expect_column(self.column)

    def usual_rate(self, way: str) -> float:
        return _HEAD_RATE if way == "head_only" else super().usual_rate(way)

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import tagged_texts

        return tagged_texts(data)

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, base: "Base") -> "TaggedText":
        base.expect_tokenizer()
        return self.dataset()

    def count(self, data: "TaggedText") -> int:
        return len(data.train)

    def dataset(self, run: "Run | None" = None) -> "TaggedText":
        """The sentences in their three parts; those of a ``run`` must be what they were."""
        from cutaway.data.text.tagged_sentences import read_tagged

        found = read_tagged(
            self.data,
            self.column,
            self.validation,
            self.test,
            self.validation_file,
            self.test_file,
            seed=self.seed,
            encoding=self.encoding,
            together=kept_together(run),
        )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def expect_resumable(self, run: "Run") -> None:
        super().expect_resumable(run)
        expect_same_parts(run, lambda made: self.dataset(made).train)

    def headed(self, base: "Base", data: "TaggedText") -> "nn.Module":
        from cutaway.tuning.label_heads import with_labels

        tags = sorted({tag for sentence in data.train for tag in sentence.tags if tag is not None})
        if len(tags) < 2:
            raise ValueError(
                f"tagging needs at least two tags, got {data.name} where every tag is {tags[0]!r}; "
                f"choose another column than column={self.column or 'upos'}"
            )
        return with_labels(base.model, tags, each="token")

    def head_is_solved(self, base: "Base", data: "TaggedText") -> bool:
        from cutaway.tuning.label_heads import keeps_labels

        tags = {tag for sentence in data.train for tag in sentence.tags if tag is not None}
        return self.fit_head and not keeps_labels(base.model, sorted(tags), "tags")

    def as_rows(self, tokenizer: Any, model: Any, sentences: "list[Tagged]", lexicon: "Lexicon") -> "TaggedRows":
        """Sentences as the model takes them."""
        from cutaway.tuning.tagged_rows import encode_tagged

        return encode_tagged(tokenizer, sentences, lexicon.tag_ids, min(self.context, model.spec.context))

    def task_job(self, model: "nn.Module", base: "Base", data: "TaggedText", rank: int, world: int) -> "Job":
        from cutaway.atomic_files import write_json
        from cutaway.data.text.lexicon import Lexicon
        from cutaway.data.text.tag_batches import EncodedSentences
        from cutaway.tasks.texts import tag as tagging
        from cutaway.tasks.texts.tagged_output import write_samples
        from cutaway.training.jobs import Job
        from cutaway.tuning.batch_parts import sum_parts
        from cutaway.tuning.head_learning import learn_head
        from cutaway.tuning.label_heads import known_labels
        from cutaway.tuning.labelled_rows import TextFeatures
        from cutaway.tuning.tagged_rows import (
            TaggedBatches,
            tagged_cost,
            tagged_features,
            word_probabilities,
        )

        lexicon = Lexicon.from_sentences([s.words for s in data.train], [s.tags for s in data.train], ())
        train = self.as_rows(base.tokenizer, model, data.train, lexicon)
        held = data.validation
        validation = None if held is None else self.as_rows(base.tokenizer, model, held, lexicon)
        truth = None if held is None else EncodedSentences(held, lexicon)
        lines = [data.summary()]
        if train.longer:
            lines.append(f"pieces: {train.longer:,} more than sentences, as some are longer than the context")
        features: list[TextFeatures | None] = [None, None]
        if self.head_only:
            features = [
                None if rows is None else TextFeatures(model, rows.tokens, self.features_memory)
                for rows in (train, validation)
            ]
            lines.append(features_in_words(features, self.features_memory))
        told: dict[str, Any] = {"fingerprint": data.fingerprint.to_dict(), "source": self.data, TOGETHER: True}
        told["summary"] = "\n".join(lines)
        if held is not None:
            metrics = tagging.FrequentTags(data.train).metrics(held, lexicon)
            told["baseline"] = {"rule": tagging.FrequentTags.rule, "metrics": metrics}
        for kept in features:
            if kept is not None:
                kept.keep()

        def said(m: "nn.Module") -> "Probabilities | None":
            return None if validation is None else word_probabilities(m, validation, features[1])

        shown = (data.train if held is None else held)[:_SAMPLES]
        few = self.as_rows(base.tokenizer, model, shown, lexicon)
        job = Job(
            model=model,
            batches=TaggedBatches(train, self.batch, self.seed, rank, world),
            objective=partial(tagged_cost, texts=train, features=features[0]),
            evaluate=lambda m: tagging.tag_metrics(m, truth, said(m)),
            whole=lambda m: tagging.whole_metrics(m, truth, said(m)),
            units=max(1, self.batch * int(train.words.sum()) // len(train)),
            unit="words",
            samples=lambda m: write_samples(m, lexicon, shown, word_probabilities(m, few)),
            files={LEXICON: lambda path: write_json(path, lexicon.to_dict())},
            data=told,
            better="error",
        )
        if world == 1 and not self.head_only:
            job.parts = sum_parts(model, train.tokens.lengths)
        if self.fit_head and model is not base.model:  # else the head is not new
            seen = features[0] or TextFeatures(model, train.tokens, self.features_memory)
            known = known_labels(base.model.spec.head, model.spec.head)  # type: ignore[union-attr]
            learn_head(job, self, *tagged_features(seen, train), bool(known), world)
        return job

    # ------------------------------------------------------------------------------------------------------------------

    def word_probabilities(self, run: "Run", sentences: "list[Tagged]") -> "Probabilities":
        """p(tag | sentence) of every word of every sentence."""
        from cutaway.tasks.texts.tagged_output import read_lexicon
        from cutaway.tuning.tagged_rows import word_probabilities

        return word_probabilities(run.model, self.as_rows(run.tokenizer, run.model, sentences, read_lexicon(run)))

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.data.text.tag_batches import EncodedSentences
        from cutaway.tasks.texts.tag import FrequentTags, whole_metrics
        from cutaway.tasks.texts.tagged_output import read_lexicon

        text, lexicon = self.dataset(run), read_lexicon(run)
        sentences = text.open_test()
        naive = FrequentTags(text.train).metrics(sentences, lexicon)
        said = self.word_probabilities(run, sentences)
        found = whole_metrics(run.model, EncodedSentences(sentences, lexicon), said)
        return found | {f"baseline_{name}": value for name, value in naive.items()}

    def read_inputs(self, source: str) -> Any:
        from cutaway.tasks.texts.tagged_output import read_source

        return read_source(source, self.encoding)

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        from cutaway.tasks.texts.tagged_output import split_text

        return split_text(text, self.splitting, self.data)

    def predict(self, run: "Run", inputs: Any) -> "TaggedOutput":
        """A tag for every word of texts, lists of words, or a CoNLL-U file given as a Path."""
        from cutaway.tasks.texts.tagged_output import tag_inputs

        tag = partial(self.word_probabilities, run)
        return tag_inputs(run, inputs, self.split, self.column, self.encoding, tag)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.tuning.tuned_subjects import whole_text_subject

        if given is not None:
            first = next(filter(None, self.read_inputs(given)), "")  # of a file, its first sentence
            text = first if isinstance(first, str) else " ".join(first.words)
            return whole_text_subject(run, text, "your sentence")
        data = self.dataset(run)
        some, trained_on = (data.train, "") if data.validation is None else (data.validation, "not ")
        words = min((s.words for s in some), key=lambda words: abs(len(words) - 12))
        return whole_text_subject(run, " ".join(words), f"a sentence that it was {trained_on}trained on")
