r"""The task `classify`: which class a text belongs to, by a trained model of text."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.tables.in_memory import STORED, TableInMemory
from cutaway.tuning.settings import TunedRecipe, features_in_words

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.labelled.labelled_texts import LabelledTexts, TextRows
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.comparison import Answers
    from cutaway.tuning.labelled_rows import LabelledRows


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
    least_steps: ClassVar[int] = 60
    quality: ClassVar[str] = (
        "MiniLM (all-MiniLM-L6-v2) on sentences of film reviews (polarity): --head-only, 2,000 of them, 62 s of one "
        "core: accuracy 0.760 on 1,000 held-out ones (TF-IDF with logistic regression 0.730). The same ways over ten "
        "folds of 10,662, in the plain loop of benchmarks/tuning_table.py: head on all layers 79.5 %, adapters 81.4 %, "
        "LoRA 82.2 %, all weights 83.0 % (TF-IDF 78.0 %)."
    )
    unit: ClassVar[str] = "nats a text"

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

    def __post_init__(self) -> None:
        if not isinstance(self.data, str):
            object.__setattr__(self, "data", TableInMemory.of(self.data))
        super().__post_init__()
        expect_at_least(self, 3, "context")

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.sniffing import labelled_texts

        return labelled_texts(data)

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, base: "Base") -> "LabelledTexts":
        base.expect_tokenizer()
        return self.dataset()

    def count(self, data: "LabelledTexts") -> int:
        return len(data.train.texts)

    def dataset(self, run: "Run | None" = None) -> "LabelledTexts":
        """The texts in their three parts; those of a ``run`` must be what they were."""
        from cutaway.tasks.texts.text_parts import read_parts

        return read_parts(self, run)

    def headed(self, base: "Base", data: "LabelledTexts") -> "nn.Module":
        from cutaway.tuning.label_heads import usual_pooling, with_labels

        pooling = usual_pooling(base, self.head_only, data.labels) if self.pooling == "auto" else self.pooling
        return with_labels(base.model, data.labels, pooling=pooling)

    def head_is_solved(self, base: "Base", data: "LabelledTexts") -> bool:
        from cutaway.tuning.label_heads import keeps_labels

        return self.fit_head and self.pooling != "attention" and not keeps_labels(base.model, data.labels, "classes")

    def as_rows(self, tokenizer: Any, model: Any, rows: "TextRows") -> "tuple[LabelledRows, int]":
        """Texts as the model takes them, and how many were cut."""
        from cutaway.data.text.whole_texts import encode_whole_texts
        from cutaway.tuning.labelled_rows import LabelledRows

        found = encode_whole_texts(tokenizer, rows.texts, min(self.context, model.spec.context))
        return LabelledRows(found.tokens, rows.labels), found.cut

    def task_job(self, model: "nn.Module", base: "Base", data: "LabelledTexts", rank: int, world: int) -> "Job":
        import torch

        from cutaway.atomic_files import write_bytes
        from cutaway.data.similar_lengths import SimilarLengths
        from cutaway.tasks.texts.bag_of_words import class_metrics, text_baseline
        from cutaway.tasks.texts.classify import LABELS, save_labels
        from cutaway.training.jobs import Job
        from cutaway.tuning.batch_parts import mean_parts
        from cutaway.tuning.head_learning import calibrate, learn_head
        from cutaway.tuning.label_heads import known_labels
        from cutaway.tuning.labelled_rows import (
            TextFeatures,
            label_logits,
            label_probabilities,
            padding_share,
            text_cost,
        )

        train, cut = self.as_rows(base.tokenizer, model, data.train)
        told: dict[str, Any] = {"fingerprint": data.fingerprint.to_dict(), "source": self.data}
        batches = SimilarLengths(train.tokens.lengths, self.batch, self.seed, rank, world)
        lines = [data.summary(), f"padding: {padding_share(batches):.1%} of an epoch's tokens"]
        if cut:
            most = min(self.context, base.model.spec.context)
            lines.append(f"cut: {cut:,} of {len(train):,} training texts are longer than the context of {most} tokens")
        validation = None if data.validation is None else self.as_rows(base.tokenizer, model, data.validation)[0]
        features: list[TextFeatures | None] = [None, None]
        if self.head_only:
            features = [
                None if rows is None else TextFeatures(model, rows.tokens, self.features_memory)
                for rows in (train, validation)
            ]
            lines.append(features_in_words(features, self.features_memory))
        if data.validation is not None:
            told["baseline"] = text_baseline(data.train, data.validation, data.labels)
        files = {LABELS: lambda path: save_labels(path, data.labels, data.columns)}
        if isinstance(self.data, TableInMemory):
            content = self.data.content
            files[STORED] = lambda path: write_bytes(path, content)
            told["stored"] = STORED
        told["summary"] = "\n".join(lines)

        def evaluate(m: "nn.Module") -> dict[str, float]:
            if validation is None:
                return {}
            return class_metrics(label_probabilities(m, validation, features[1]), validation.labels)

        for kept in features:
            if kept is not None:
                kept.keep()
        job = Job(
            model=model,
            batches=batches,
            objective=partial(text_cost, texts=train, features=features[0]),
            evaluate=evaluate,
            whole=evaluate,  # the weights that are kept need not be those of the last evaluation
            units=self.batch,
            unit="texts",
            files=files,
            data=told,
            better="accuracy",
            more_is_better=True,
        )
        if world == 1 and not self.head_only:
            job.parts = mean_parts(model, train.tokens.lengths)
        if self.calibrate and validation is not None and world == 1:  # shards of weights cannot be divided alone
            scores = lambda m: (label_logits(m, validation, features[1]), torch.from_numpy(validation.labels))
            job.calibrate = partial(calibrate, scores=scores)
        if self.fit_head and model is not base.model:  # else the head is not new
            seen = features[0] or TextFeatures(model, train.tokens, self.features_memory)
            known = known_labels(base.model.spec.head, model.spec.head)  # type: ignore[union-attr]
            learn_head(job, self, seen, train.labels, bool(known), world)
        return job

    # ------------------------------------------------------------------------------------------------------------------

    def probabilities(self, run: "Run", rows: "TextRows") -> Any:
        """P(label) of some texts, (n, labels)."""
        from cutaway.tuning.labelled_rows import label_probabilities

        return label_probabilities(run.model, self.as_rows(run.tokenizer, run.model, rows)[0])

    def test_metrics(self, run: "Run") -> dict[str, float]:
        import warnings

        from cutaway.data.labelled.labelled_texts import count_shared
        from cutaway.tasks.texts.bag_of_words import class_metrics, text_baseline

        texts = self.dataset(run)
        rows = texts.open_test()
        shared = count_shared(texts.train, rows)
        if shared:
            warnings.warn(
                f"{shared:,} of {len(rows.texts):,} test texts are also in training: they test memory", stacklevel=2
            )
        naive = text_baseline(texts.train, rows, texts.labels)["metrics"]
        found = class_metrics(self.probabilities(run, rows), rows.labels)
        return found | {f"baseline_{name}": value for name, value in naive.items()}

    def held_out_inputs(self, run: "Run") -> "list[tuple[Any, ...]]":
        from cutaway.tuning.comparison import text_inputs

        rows = self.dataset(run).validation
        return [] if rows is None else text_inputs(run.model, rows.texts)

    def answers_before_and_after(self, run: "Run", base: Any) -> "Answers | None":
        import numpy as np

        from cutaway.data.labelled.labelled_texts import TextRows
        from cutaway.tuning.comparison import class_answers, same_labels
        from cutaway.tuning.labelled_rows import label_probabilities

        data = self.dataset(run)
        if data.validation is None:
            return None
        some = TextRows(data.validation.texts[:400], data.validation.labels[:400])
        own = None
        if same_labels(base, data.labels):
            order = [data.labels.index(label) for label in base.spec.head.labels]
            own = np.array(order)[label_probabilities(base, self.as_rows(run.tokenizer, base, some)[0]).argmax(1)]
        return class_answers(base, data, self.probabilities(run, some).argmax(1), own)

    def read_inputs(self, source: str) -> Any:
        """A path, or a text itself: what a file holds is read when the run says which column."""
        from cutaway.tasks.texts.text_inputs import expect_text, is_file

        if is_file(source):
            return Path(source)
        expect_text(source)
        return source

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The label of a text, of several, of the rows of a file or a DataFrame; and P(label) for every label."""
        import numpy as np

        from cutaway.data.labelled.labelled_texts import TextRows
        from cutaway.tasks.texts.classified_inputs import texts_to_classify
        from cutaway.tasks.texts.classify import labels_of

        about = labels_of(run)
        texts = texts_to_classify(inputs, about["text"], self.encoding)
        p = self.probabilities(run, TextRows(texts, np.zeros(len(texts), np.int64)))
        labels = about["labels"]
        return [
            {"text": text, about["target"]: labels[int(row.argmax())]}
            | {f"P({label})": float(value) for label, value in zip(labels, row, strict=True)}
            for text, row in zip(texts, p, strict=True)
        ]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Your text; without one, a text that it was not trained on and is unsure of."""
        from cutaway.tasks.texts.text_inputs import first_line
        from cutaway.tuning.tuned_subjects import least_sure_text, whole_text_subject

        if given is not None:
            return whole_text_subject(run, first_line(given, self.encoding), "your text")
        texts = self.dataset(run)
        rows, words = texts.train, "a text that it was trained on"
        if texts.validation is not None:
            rows, words = texts.validation, "a text that it was not trained on"
        return whole_text_subject(run, least_sure_text(self, run, rows), words)
