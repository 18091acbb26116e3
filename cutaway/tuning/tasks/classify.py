r"""The task `classify`: which class a text belongs to, by a trained model of text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.texts.classify import TextClasses
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.classify import TunedTextClasses


@dataclass(frozen=True)
class TunedClassesRecipe(TunedRecipe):
    """Tunes a model of text to give every text one of several labels.

    The model reads the text between its special tokens; one vector is pooled of what it makes of them, and a linear
    layer scores the labels.
    """

    name: ClassVar[str] = "tuned-classify"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes='"a text of yours"',
            gives="a text, lines or a table with a column of texts in; the label and P(label) for every label out",
        ),
    )
    task: ClassVar[str] = "classify"
    task_kind: ClassVar[str] = "texts/classify"
    least_steps: ClassVar[int] = 60
    quality: ClassVar[str] = (
        "MiniLM (all-MiniLM-L6-v2) on sentences of film reviews (polarity): --head-only, 2,000 of them, 62 s of one "
        "core: accuracy 0.760 on 1,000 held-out ones (TF-IDF with logistic regression 0.730). The same ways over ten "
        "folds of 10,662, in the plain loop of benchmarks/tuning_table.py: head on all layers 79.5 %, adapters 81.4 %, "
        "LoRA 82.2 %, all weights 83.0 % (TF-IDF 78.0 %)."
    )
    unit: ClassVar[str] = "nats a text"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"

    data: str = setting("", FIRST, "PATH")  # in Python a DataFrame, too, or a dict of columns
    """CSV, TSV, JSON lines or Parquet with a text and a label column; a folder or zip with a folder or file for each
    class; or the name of an embedded sample (`cutaway list data`)"""
    text: str = setting("", FIRST, "COLUMN")
    """the column of texts; several with commas between are joined (default: found and told)"""
    target: str = setting("", FIRST, "COLUMN")
    """the column of labels (default: found and told)"""
    pooling: Literal["auto", "cls", "mean", "attention", "layers", "last"] = setting("auto", FIRST)
    """one vector of a text: its first token's, the mean, a mean weighed by attention, the means of all layers side by
    side, or the last token's; auto is last for models that read to the right; of others, layers for a head alone and
    for checkpoints of sentence-transformers, else cls, for which transformers has a class"""
    fit_head: bool = setting(True, OPTIMIZER)
    """fit the last layer of a new head to the features of the base before anything else learns, C by cross-validation;
    of a head alone, this is all there is to learn, unless steps, epochs or a rate are given"""
    calibrate: bool = setting(True, RESULTS)
    """at the end, make the probabilities as sure as they are right on validation (a temperature in the last layer)"""
    batch: int = 16
    """texts in a batch, of similar length"""
    context: int = setting(256, FIRST)
    """tokens of a text that are read, at most"""
    test_file: str = setting("", DATA, "PATH")
    """test texts of their own, in a file or folder, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the texts"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a table holds the names of the columns; without it, it is found and told"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 3, "context")

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import labelled_texts

        return labelled_texts(data)

    @override
    def read(self, base: Any = None) -> "TextClasses":
        from cutaway.tasks.texts.classify import TextClasses

        base.expect_tokenizer()
        task = TextClasses(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def headed(self, base: "Base", task: "TextClasses") -> "nn.Module":
        from cutaway.tuning.label_heads import usual_pooling, with_labels

        labels = task.parts.labels
        pooling = usual_pooling(base, self.head_only, labels) if self.pooling == "auto" else self.pooling
        return with_labels(base.model, labels, pooling=pooling)

    @override
    def head_is_solved(self, base: "Base", task: "TextClasses") -> bool:
        from cutaway.tuning.label_heads import keeps_labels

        kept = keeps_labels(base.model, task.parts.labels, "classes")
        return self.fit_head and self.pooling != "attention" and not kept

    @override
    def learner_kind(self) -> "type[TunedTextClasses]":
        from cutaway.tuning.learners.classify import TunedTextClasses

        return TunedTextClasses
