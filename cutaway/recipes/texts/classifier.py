r"""`classifier`: which class a text belongs to, learned from texts with labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.data.text.tokenizers import Tokenizer
    from cutaway.models.sequences.text_classifier import TextClassifierSpec
    from cutaway.tasks.texts.classify import TextClasses
    from cutaway.tasks.texts.text_readers import VotingReaders

_WORDS = 50_000  # of a vocabulary of words, at most


@dataclass(frozen=True)
class ClassifierRecipe(Recipe):
    """Learns which class a text belongs to: reviews and their tone, questions and their topic, names by language.

    Readers of the words (convolutions, an LSTM or a transformer, pooled by maximum and attention) and a bag of n-grams
    (words, pairs of words, letter groups, each weighed by naive Bayes) vote. The bag is a linear model, fitted before
    the first step; the readers learn beside it, each from its own errors.
    """

    name: ClassVar[str] = "classifier"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes='"a text of yours"',
            gives="a text, lines or a table with a column of texts in; the label and P(label) for every label out",
        ),
    )
    task_kind: ClassVar[str] = "texts/classify"
    quality: ClassVar[str] = (
        "Which of 12 modules a docstring is from: 92.3 % of 195 held-out texts right, log loss 0.33 (TF-IDF with "
        "logistic regression: 90.3 %, 0.62). Sentence polarity with GloVe's 50 numbers, mean of ten folds: 80.65 % "
        "right, 26 s of one thread each (NB-weighted bigrams 78.70, TF-IDF 77.95; published: NBSVM 79.4, Kim's CNN "
        "with 300 numbers 81.5). `python benchmarks/run.py sentence_classes` measures it."
    )
    unit: ClassVar[str] = "nats a text"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"

    data: str = "python-modules"  # in Python a DataFrame, too, or a dict of columns
    """CSV, TSV, JSON lines or Parquet with a text and a label column; a folder or zip with a folder or file for each
    class; or the name of an embedded sample (`cutaway list data`)"""
    text: str = setting("", FIRST, "COLUMN")
    """the column of texts; several with commas between are joined (default: found and told)"""
    target: str = setting("", FIRST, "COLUMN")
    """the column of labels (default: found and told)"""
    model: Literal["cnn", "rnn", "transformer"] = setting("cnn", FIRST)
    """who reads the words: convolutions, a bidirectional LSTM or a transformer"""
    validation: float = setting(0.1, DATA)
    """share of the texts to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the texts for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """test texts of their own, in a file or folder, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the texts"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a table holds the names of the columns; without it, it is found and told"""
    tokenizer: str = "words"
    """what readers read: words, words-N for the N most frequent, characters, or bpe-N for pieces of words"""
    vectors: str = setting("", FIRST, "PATH")
    """word vectors to begin with: word2vec's or GloVe's file; words that training has not get theirs too"""
    ngrams: int = 300_000
    """n-grams in the bag, at most, and fewer where classes are hundreds; 0 for no bag"""
    penalty: float = 4.0
    """pull of the n-grams' weights towards zero: more where texts are few or labels are noisy"""
    trust: float = 0.67
    """weight of the n-grams' vote beside the readers', from 0 to 1"""
    readers: int = 1
    """readers of the words that vote, each with weights of its own on the same word vectors"""
    vector_width: int = 64
    """width of a word's vector, if none are given"""
    width: int = 50
    """filters of each kernel; units of the LSTM each way; width of the transformer"""
    depth: int = 1
    """layers of the LSTM or the transformer"""
    heads: int = 4
    """attention heads of the transformer"""
    context: int = 256
    """tokens of a text that readers see; n-grams are those of the whole text"""
    dropout: float = 0.5
    """share of pooled values dropped in training"""
    hide: float = 0.1
    """share of words hidden in training, from which it is learned what to do about unknown ones"""

    augment: float = setting(0.0, DATA)
    """share of words that training leaves out or moves, anew each time that readers see a text, which helps where texts
    are few, if at all: compare; 0 for none"""

    steps: int = setting(800, FIRST)
    """optimizer steps"""
    batch: int = setting(50, FIRST)
    """texts in a batch, of similar length"""
    rate: float = 3e-3
    """full learning rate"""
    beta: float = 0.98
    """how long Adam remembers squared gradients"""
    calibrate: bool = setting(True, RESULTS)
    """at the end, make the probabilities as sure as they are right on validation (a temperature in the last layers)"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "readers", "vector_width", "width", "depth", "heads", "context")
        expect_at_least(self, 0, "ngrams")
        expect_share(self, "validation", "test", "dropout", "hide", "trust", "augment")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs texts to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )
        _expect_tokenizer(self.tokenizer)
        if not self.penalty > 0:
            raise ValueError(f"penalty must be above 0, got {self.penalty}; try penalty=4")
        if self.vectors and not self.tokenizer.startswith("words"):
            raise ValueError(
                f"vectors are those of words, got vectors={self.vectors!r} with tokenizer={self.tokenizer!r}; "
                "use tokenizer='words'"
            )
        if self.model == "transformer":
            from cutaway.recipes.checks import expect_heads

            expect_heads(self)

    # ------------------------------------------------------------------------------------------------------------------

    def make_tokenizer(self, texts: list[str], more: "list[str]") -> "Tokenizer":
        """The tokenizer of the settings, learned from the training texts; ``more`` are words that have a vector."""
        from cutaway.data.text.tokenizers import train_bpe
        from cutaway.data.text.word_tokens import PAD, train_letters, train_words

        kind, _, size = self.tokenizer.partition("-")
        if kind == "words":
            return train_words(texts, int(size or _WORDS), more)
        return train_letters(texts) if kind == "characters" else train_bpe(texts, int(size or 8000), [PAD, "<unk>"])

    def spec(self, classes: int, vocabulary: int, features: int, vector_width: int) -> "TextClassifierSpec":
        """The model's design."""
        from cutaway.models.sequences.text_classifier import TextClassifierSpec

        return TextClassifierSpec(
            classes=classes,
            vocabulary=vocabulary,
            features=features,
            reader=self.model,
            readers=self.readers,
            vector_width=vector_width,
            width=self.width,
            depth=self.depth,
            heads=self.heads,
            dropout=self.dropout,
            hide=self.hide,
            trust=self.trust,
        )

    @override
    def read(self, base: Any = None) -> "TextClasses":
        from cutaway.tasks.texts.classify import TextClasses

        task = TextClasses(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "VotingReaders":
        from cutaway.tasks.texts.text_readers import VotingReaders

        return VotingReaders.new(self, task) if model is None else VotingReaders.of_run(self, task, model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, context={self.context}, ngrams={self.ngrams} or width={self.width}"


def _expect_tokenizer(tokenizer: str) -> None:
    kind, dash, size = tokenizer.partition("-")
    if kind not in ("words", "characters", "bpe") or (dash and (not size.isdigit() or kind == "characters")):
        raise ValueError(
            f"tokenizer must be words, words-N, characters or bpe-N, got {tokenizer!r}; try tokenizer='words'"
        )
