r"""The task `pairs`: vectors of texts in which those that belong together are near, by a trained model of text."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import TOGETHER, expect_same_parts, kept_together
from cutaway.tuning.settings import TunedRecipe

VIEWS = 0.1  # dropout that makes two views of one text, as Gao et al. 2021 have it

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.labelled.text_pairs import TextPairs
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.comparison import Answers


@dataclass(frozen=True)
class TunedPairsRecipe(TunedRecipe):
    """Tunes a model of text so that texts that belong together have vectors that point alike.

    A table of pairs: a question and its answer, two sentences of one meaning, and for each if you like a text that does
    not belong. Every other text of a batch is a wrong answer (InfoNCE), so large batches teach more. Pairs with a
    column of scores teach how alike two texts are. Texts without a partner, one a line, are seen twice through
    dropout, and these two views belong together (SimCSE). `cutaway embed` and `cutaway nearest` use the run.
    """

    name: ClassVar[str] = "tuned-pairs"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="pairs.csv", gives="a table of pairs of texts in; the cosine of each out"),
    )
    task: ClassVar[str] = "pairs"
    quality: ClassVar[str] = (
        "MiniLM, which knows English, finds the English of a Spanish sentence among 1,200 for 9.7 % of them; after 30 "
        "steps of 64 pairs for 37.3 % by LoRA (rate 0.006) and 48.8 % in all weights (rate 0.0003); TF-IDF of pieces "
        "of words for 22.2 %. Texts without a partner did not help a small bert: MRR 0.040 before, 0.029 after. "
        "`python benchmarks/run.py text_pairs` measures it."
    )
    unit: ClassVar[str] = "nats a pair"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    head_learns: ClassVar[bool] = False

    data: str = setting("", FIRST, "PATH")  # in Python a DataFrame, too, or a dict of columns
    """CSV, TSV, JSON lines or Parquet: anchor, positive and perhaps negative; or two texts and a score; or texts
    without a partner, one a line"""
    columns: str = setting("", FIRST, "NAMES")
    """the columns of first and second texts, and of negatives, with commas between (default: found by their names);
    a single one has texts without a partner"""
    scale: float = setting(20.0, FIRST)
    """what cosines are multiplied by before the softmax: 1 / temperature"""
    context: int = setting(0, FIRST)
    """tokens of a text that are read, at most; 0 for as many as the base reads"""
    dropout: float = setting(0.0, OPTIMIZER)
    """share of the model's values dropped in training; 0 for that of the base, which for texts without a partner is
    0.1 if it has none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the texts"""
    batch: int = 64
    """pairs in a batch: each is told from all others of it"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "context")
        expect_share(self, "dropout")
        if not self.scale > 0:
            raise ValueError(f"scale must be above 0, got {self.scale}; try scale=20")
        if self.batch < 2:
            raise ValueError(f"batch must be at least 2, as pairs are told from each other, got {self.batch}; try 64")

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import text_pairs

        return text_pairs(data)

    def read(self, base: "Base") -> "TextPairs":
        base.expect_tokenizer()
        return self.dataset()

    def count(self, data: "TextPairs") -> int:
        return len(data.train)

    def dataset(self, run: "Run | None" = None) -> "TextPairs":
        """The pairs in their three parts; those of a ``run`` must be what they were."""
        from cutaway.data.labelled.text_pairs import read_text_pairs

        asked = tuple(name.strip() for name in self.columns.split(",")) if self.columns else ()
        if len(asked) > 3:
            raise ValueError(f"columns must name one to three columns, got {self.columns!r}; try columns='a,b'")
        shares = self.validation, self.test
        pairs = read_text_pairs(self.data, asked, *shares, self.seed, self.encoding, kept_together(run))
        if run is not None:
            run.expect_same_data(pairs.fingerprint)
        return pairs

    def expect_resumable(self, run: "Run") -> None:
        super().expect_resumable(run)
        expect_same_parts(run, lambda made: self.dataset(made).train.firsts)

    def headed(self, base: "Base", data: "TextPairs") -> "nn.Module":
        """The base without a head, and with its way to pool written out: the mean of tokens, if it says none."""
        from cutaway.models.base import with_head
        from cutaway.models.specs.parts import SentenceSpec
        from cutaway.training.adapters.stacked_adapters import rebuilt

        spec = base.model.spec.sentence or SentenceSpec()
        share = self.dropout or (VIEWS if data.unpaired and not has_dropout(base.model.spec) else 0.0)
        if share:
            base.model.spec = with_dropout(base.model.spec, share)
        model: Any = rebuilt(base.model, lambda m: with_head(m, None))
        context = min(value for value in (self.context, spec.context, getattr(model.spec, "context", None)) if value)
        model.spec = model.spec.but(sentence=spec.but(context=context))
        return model

    def task_job(self, model: "nn.Module", base: "Base", data: "TextPairs", rank: int, world: int) -> "Job":
        from cutaway.data.batches import ShuffledRows
        from cutaway.tasks.texts.pairs import EncodedPairs, pair_cost, pair_metrics
        from cutaway.training.jobs import Job

        train = EncodedPairs.of(model, data.train)
        validation = None if data.validation is None else EncodedPairs.of(model, data.validation)
        told: dict[str, Any] = {"fingerprint": data.fingerprint.to_dict(), "source": self.data, TOGETHER: True}
        lines = [data.summary()]
        if train.cut:
            most = model.spec.sentence.context  # type: ignore[union-attr]
            lines.append(f"cut: {train.cut:,} training texts are longer than {most} tokens")
        told["summary"] = "\n".join(lines)
        if validation is not None:
            rule = "the base as it was before tuning"
            if validation.scores is None:  # the more there are to choose from, the harder it is
                rule += f", which chooses among the same {len(set(validation.places.tolist())):,} second texts"
            told["baseline"] = {"rule": rule, "metrics": pair_metrics(model, validation, self.scale)}

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return {} if validation is None else pair_metrics(m, validation, self.scale)

        return Job(
            model=model,
            batches=ShuffledRows(len(train), self.batch, self.seed, rank, world),
            objective=partial(pair_cost, pairs=train, scale=self.scale),
            evaluate=evaluate,
            whole=evaluate,  # the weights that are kept need not be those of the last evaluation
            units=self.batch,
            unit="pairs",
            data=told,
            better="mrr" if train.scores is None else "spearman",
            more_is_better=True,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.texts.pairs import EncodedPairs, pair_metrics
        from cutaway.tuning.bases import open_base

        data = self.dataset(run)
        rows = data.open_test()
        found = pair_metrics(run.model, EncodedPairs.of(run.model, rows), self.scale)
        try:
            before: Any = self.headed(open_base(self.base), data)
        except ValueError:  # the base was moved or deleted: the run needs it for the comparison alone
            return found
        before.tokenizer = run.tokenizer
        naive = pair_metrics(before, EncodedPairs.of(before, rows), self.scale)
        return found | {f"baseline_{name}": value for name, value in naive.items()}

    def held_out_inputs(self, run: "Run") -> "list[tuple[Any, ...]]":
        from cutaway.tuning.comparison import text_inputs

        rows = self.dataset(run).validation
        return [] if rows is None else text_inputs(run.model, rows.firsts)

    def answers_before_and_after(self, run: "Run", base: Any) -> "Answers | None":
        from cutaway.tuning.comparison import pair_answers

        rows = self.dataset(run).validation
        return None if rows is None or rows.scores is not None else pair_answers(base, run.model, rows)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The cosine of each pair of a table: a path, a DataFrame, a dict of columns."""
        import torch

        from cutaway.data.labelled.text_pairs import find_columns, first_row_as_pair
        from cutaway.data.tables.text_tables import read_columns

        asked = tuple(name.strip() for name in self.columns.split(","))[:2] if self.columns else ()
        table = first_row_as_pair(read_columns(inputs, self.encoding), inputs)
        first, second, *_ = find_columns(list(table), asked if len(asked) == 2 else ())
        if not second:
            raise ValueError(f"pairs need two columns of texts, got {first!r} alone; add the texts to compare with")
        a, b = (run.embed(table[name]) for name in (first, second))
        cosines = torch.nn.functional.cosine_similarity(a, b).tolist()
        return [
            {first: x, second: y, "cosine": cosine}
            for x, y, cosine in zip(table[first], table[second], cosines, strict=True)
        ]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Your text; without one, a text that it was not trained on."""
        from cutaway.tasks.texts.text_inputs import first_line
        from cutaway.tuning.tuned_subjects import whole_text_subject

        if given is not None:
            return whole_text_subject(run, first_line(given, self.encoding), "your text")
        pairs = self.dataset(run)
        rows, words = pairs.train, "a text that it was trained on"
        if pairs.validation is not None:
            rows, words = pairs.validation, "a text that it was not trained on"
        return whole_text_subject(run, rows.firsts[0], words)


def has_dropout(spec: Any) -> bool:
    """Whether a model of this design drops values in training, so that two passes of one text differ."""
    return bool(spec.dropout or spec.attention.dropout)


def with_dropout(spec: Any, share: float) -> Any:
    """The same design with this share of its values dropped in training."""
    return spec.but(dropout=share, attention=spec.attention.but(dropout=share))
