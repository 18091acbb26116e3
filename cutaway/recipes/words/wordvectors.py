r"""`wordvectors`: a vector for every word of your text, by CBOW or skip-gram."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.words.vectors import WordsInContext
    from cutaway.tasks.words.word2vec import Word2Vec

_AUTOGRAD: dict[str, Any] = {"rate": 5e-3, "steps": 2000}  # of outputs that AdamW trains, where nobody chose others


@dataclass(frozen=True)
class WordVectorsRecipe(Recipe):
    """Learns a vector for every frequent word, from the words that stand around it.

    CBOW guesses a word from the mean of its context, skip-gram from one word of it. Words that are used alike get
    vectors that point alike: `cutaway nearest RUN word` lists them, and solves analogies with + and -.
    """

    name: ClassVar[str] = "wordvectors"
    abilities: ClassVar[tuple[Offer, ...]] = (Offer("test"), Offer("embed"), Offer("nearest"))
    task_kind: ClassVar[str] = "words/vectors"
    unit: ClassVar[str] = "nats a word"
    quality: ClassVar[str] = (
        "Text8's first 10 MB, 100 numbers, five epochs, means of three seeds: CBOW agrees with people's ratings by "
        ".444 (WordSim-353) and .198 (SimLex-999) and solves 6.4 % of the analogies, at 0.87 of gensim's speed "
        "with one thread (gensim: .431, .195, 6.4 %); with two, gensim is twice as fast. Skip-gram: .460, .210 and "
        "7.5 % at twice gensim's speed (.432, .230, 7.7 %). `python benchmarks/run.py word_vectors` measures it."
    )

    data: str = "python-docs"
    """a text file, a folder of them, or the name of an embedded sample (`cutaway list data`)"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the text"""
    words: Literal["letters", "spaces"] = setting("letters", DATA)
    """what parts words: every sign that is no letter or digit, or spaces alone"""
    keep_case: bool = setting(False, DATA)
    """keep capital letters; without it they are taken for small ones"""
    across_lines: bool = setting(False, DATA)
    """let windows reach over the ends of lines; without it a line is a sentence, as for word2vec and gensim"""
    min_count: int = setting(5, DATA)
    """how often a word must be there to get a vector"""
    phrases: int = setting(0, DATA)
    """times that frequent pairs of words are joined into one (new_york) before training; 0 for none"""
    phrase_threshold: float = setting(100.0, DATA)
    """how much more often than by chance a pair must be there to be joined"""
    validation: float = setting(0.02, DATA)
    """share of the text to evaluate on; 0 for none"""
    test: float = setting(0.02, DATA)
    """share of the text for `cutaway test`; 0 for none"""
    similarity: str = setting("", RESULTS)
    """a file of word pairs with people's ratings (WordSim-353, SimLex-999): `cutaway test` and the report score them"""
    analogies: str = setting("", RESULTS)
    """a file of analogies (questions-words.txt), scored likewise"""
    method: Literal["cbow", "skip-gram"] = setting("cbow", FIRST)
    """guess a word from its context, or from one word of it"""
    context: Literal["sum", "mean"] = "mean"
    """of CBOW: what a context is, the mean of its vectors (gensim's default) or their sum (as CBOW was written down)"""
    output: Literal["negative", "hierarchical", "sampled", "nce", "full"] = "negative"
    """output layer: negative sampling is trained without autograd and by far the fastest; the others by AdamW"""
    negatives: int = 5
    """words sampled beside the right one, for each"""
    window: int = setting(5, FIRST)
    """words on either side that a context reaches, at most; each window draws its reach from 1 to this"""
    sample: float = 1e-3
    """share of the text from which frequent words are thinned out; 0 for never"""
    width: int = setting(100, FIRST)
    """numbers of a vector"""
    subwords: int = 0
    """rows for pieces of words (fastText's way), which give vectors to words never seen; 0 for none, try 100000"""
    passes: float = setting(10.0, FIRST)
    """times that the text is read"""
    steps: int = 200
    """pieces that these passes are cut into: the rate falls, and metrics are written, from one to the next"""
    batch: int = 256
    """words whose steps are taken at once"""
    rate: float = 0.05
    """learning rate at the beginning, of each word's own step"""
    floor: float = 0.002
    """share of the rate at the end"""
    final: Literal["best", "last"] = setting("last", RESULTS)
    """the weights that the run ends with: last, or best by validation"""
    log_every: int = setting(5, RESULTS)
    """steps that a line of metrics.jsonl is the mean of"""
    evaluate_every: int = setting(20, RESULTS)
    """steps between evaluations"""
    checkpoint_every: int = setting(50, RESULTS)
    """steps between checkpoints"""
    evaluate_words: int = setting(20_000, RESULTS)
    """validation words used while training; the whole split is used at the end"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "window", "negatives", "min_count", "evaluate_words")
        expect_at_least(self, 0, "phrases", "subwords", "phrase_threshold")
        expect_share(self, "validation", "test", "sample")
        if not self.passes > 0 and not (self.passes == 0 and "passes" in self.open_settings):
            raise ValueError(f"passes must be above 0, got {self.passes}; try passes=5")
        if self.accumulate > 1 or self.batch_growth > 1:
            raise ValueError(
                f"word vectors learn from one batch after another, got accumulate={self.accumulate}, "
                f"batch_growth={self.batch_growth}; set batch instead"
            )
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs text to evaluate on, got patience={self.patience} with validation=0; set patience=0"
            )

    @override
    def read(self, base: Any = None) -> "WordsInContext":
        from cutaway.tasks.words.vectors import WordsInContext

        task = WordsInContext(self)
        task.parts, task.tests  # noqa: B018 -- reads them
        return task

    @override
    def settled(self, task: Any, base: Any = None) -> "WordVectorsRecipe":
        """New settings: outputs that AdamW trains have another rate and other steps, where nobody chose them."""
        if self.output == "negative":
            return self
        usual = {name: type(self).__dataclass_fields__[name].default for name in _AUTOGRAD}
        chosen: dict[str, Any] = {name: x for name, x in _AUTOGRAD.items() if getattr(self, name) == usual[name]}
        return replace(self, **chosen)

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "Word2Vec":
        from cutaway.tasks.words.word2vec import Word2Vec

        return Word2Vec.new(self, task) if model is None else Word2Vec(self, task, model)

    @override
    def smaller(self) -> str:
        return f"raise min_count={self.min_count}, or lower width={self.width} or subwords={self.subwords}"
