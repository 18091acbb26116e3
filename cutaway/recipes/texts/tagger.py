r"""`tagger`: a tag for every word of a sentence, learned from CoNLL-U or from columns of words and tags."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import expect_same_parts
from cutaway.training.optimizers.schedules import Shape

if TYPE_CHECKING:
    from cutaway.data.text.lexicon import Lexicon
    from cutaway.models.sequences.tagger import TaggerSpec
    from cutaway.runs.run import Run
    from cutaway.tasks.texts.tag import WordTags
    from cutaway.tasks.texts.word_tagger import WordTagger


@dataclass(frozen=True)
class TaggerRecipe(Recipe):
    """Learns a tag for every word of a sentence: parts of speech, names, roles; from CoNLL-U or word<TAB>tag.

    A bidirectional LSTM reads words by their own vectors, their letters (a convolution), beginnings, ends and shape, so
    that words never seen are tagged too. Vectors of your own (GloVe, word2vec) help most where text to learn from is
    short.
    """

    name: ClassVar[str] = "tagger"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="text.conllu",
            gives="texts or CoNLL-U in; a tag for every word out; CoNLL-U comes back with its tags put in, and --json "
            "has the probabilities of all tags",
            formats=(".conllu",),
        ),
    )
    task_kind: ClassVar[str] = "texts/tag"
    quality: ClassVar[str] = (
        "Parts of speech on the test file of the English Web Treebank (UPOS, preset treebank, GloVe's vectors of 50 "
        "numbers for 20,000 words): 96.1 % right, of words never seen 82.5 %, in 547 s of processor time; each word's "
        "most frequent tag 88.7 %. The default run: 99.8 % of the roles of words in lines of Python, 29 s; most "
        "frequent role 90.5 %. `python benchmarks/run.py tagging` measures it."
    )
    unit: ClassVar[str] = "nats a word"

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "treebank": dict(
            width=200,
            word_width=100,
            dropout=0.5,
            ema=0.998,
            steps=5488,
            warmup=200,
            evaluate_every=392,
            checkpoint_every=1960,
            final="best",
        ),
    }

    data: str = "python-roles"
    """a CoNLL-U file, a file of word<TAB>tag, a folder with train, dev and test files, or an embedded sample"""
    column: str = setting("", FIRST)
    """what to learn: upos, xpos, feats, deprel, a key such as feats:Tense or misc:NER, or the number of a plain column
    (default: upos; of plain columns the last)"""
    validation: float = setting(0.1, DATA)
    """share of the sentences to evaluate on, if there is no file of them; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the sentences for `cutaway test`, if there is no file of them; 0 for none"""
    validation_file: str = setting("", DATA, "PATH")
    """a file of validation sentences of its own, instead of a share"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test sentences of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the text"""
    splitting: Literal["auto", "words", "spaces", "python"] = setting("auto", DATA)
    """how texts that you give later are split into words: punctuation apart, at spaces, or as Python's tokens; auto is
    python for the sample python-roles, else words"""
    vectors: str = setting("", FIRST, "PATH")
    """word vectors to begin with: GloVe or word2vec, text or binary, or .npy with words.txt beside it"""
    learn_vectors: bool = setting(False, MODEL)
    """whether training changes those vectors; words of the training data have a learned one beside it anyway"""
    vector_words: int = setting(50_000, MODEL)
    """vectors taken from the file, the first ones, which are those of frequent words; words of the data always"""
    width: int = setting(128, FIRST)
    """units of the LSTM in each direction"""
    depth: int = setting(1, MODEL)
    """layers of the LSTM"""
    word_width: int = 64
    """width of a word's own vector"""
    filters: int = 64
    """filters of the convolution over letters, each of which sees three"""
    affix_width: int = 16
    """width of the vector of a beginning, an end or a shape"""
    dropout: float = setting(0.4, FIRST)
    """share of values dropped in training, before and after the LSTM"""
    hide: float = 0.25
    """how often training hides words, so that unknown ones are learned: hide / (hide + n) of those seen n times"""

    steps: int = 600
    """optimizer steps"""
    batch: int = 32
    """sentences in a batch, of similar length"""
    rate: float = 3e-3
    """full learning rate"""
    beta: float = 0.98
    """how long Adam remembers squared gradients"""
    schedule: Shape = "cosine"
    """shape of the learning rate over the steps"""
    warmup: int = 100
    """steps in which the rate rises from zero"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    ema: float = 0.995
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: the last, whose rate is near 0, or those with fewest validation errors"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        from cutaway.data.text.conllu import expect_column

        expect_at_least(self, 1, "width", "depth", "word_width", "filters", "affix_width", "vector_words")
        expect_at_least(self, 0, "hide")
        expect_share(self, "validation", "test", "dropout")
        expect_column(self.column)
        if self.patience and not (self.validation or self.validation_file):
            raise ValueError(
                f"patience needs sentences to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def spec(self, lexicon: "Lexicon", vector_width: int) -> "TaggerSpec":
        """The model's design."""
        from cutaway.models.sequences.tagger import TaggerSpec

        return TaggerSpec(
            tags=len(lexicon.tags),
            **lexicon.sizes,
            vector_width=vector_width,
            learn_vectors=self.learn_vectors,
            word_width=self.word_width,
            filters=self.filters,
            affix_width=self.affix_width,
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
        )

    @override
    def read(self, base: Any = None) -> "WordTags":
        from cutaway.tasks.texts.tag import WordTags, given_vectors

        task = WordTags(self)
        task.vectors = given_vectors(self.vectors, self.vector_words, task.parts) if self.vectors else None
        task.lexicon  # noqa: B018 -- made of the data, which is read
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "WordTagger":
        from cutaway.tasks.texts.word_tagger import WordTagger

        return WordTagger.new(self, task) if model is None else WordTagger(self, task, model)

    @override
    def expect_resumable(self, run: "Run") -> None:
        from cutaway.tasks.texts.tag import WordTags

        super().expect_resumable(run)
        expect_same_parts(run, lambda made: WordTags(self, made).parts.train)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or vector_words={self.vector_words}"
