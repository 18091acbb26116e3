r"""The task `tag`: a tag for every word of a sentence, by a trained model of text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import expect_same_parts
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tasks.texts.tag import WordTags
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.tag import TunedTags

_HEAD_RATE = 1e-2  # 83.4 % of held-out words right, 81.8 % at 3e-3 (EWT, 800 sentences, MiniLM)


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
    task_kind: ClassVar[str] = "texts/tag"
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        from cutaway.data.text.conllu import expect_column

        expect_at_least(self, 3, "context")
        expect_column(self.column)

    @override
    def usual_rate(self, way: str) -> float:
        return _HEAD_RATE if way == "head_only" else super().usual_rate(way)

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import tagged_texts

        return tagged_texts(data)

    @override
    def read(self, base: Any = None) -> "WordTags":
        from cutaway.tasks.texts.tag import WordTags

        base.expect_tokenizer()
        task = WordTags(self)
        task.lexicon  # noqa: B018 -- made of the data, which is read
        return task

    @override
    def expect_resumable(self, run: "Run") -> None:
        from cutaway.tasks.texts.tag import WordTags

        super().expect_resumable(run)
        expect_same_parts(run, lambda made: WordTags(self, made).parts.train)

    @override
    def headed(self, base: "Base", task: "WordTags") -> "nn.Module":
        from cutaway.tuning.label_heads import with_labels

        return with_labels(base.model, list(task.lexicon.tags), each="token")

    @override
    def head_is_solved(self, base: "Base", task: "WordTags") -> bool:
        from cutaway.tuning.label_heads import keeps_labels

        return self.fit_head and not keeps_labels(base.model, task.lexicon.tags, "tags")

    @override
    def learner_kind(self) -> "type[TunedTags]":
        from cutaway.tuning.learners.tag import TunedTags

        return TunedTags
