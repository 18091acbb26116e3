r"""`tagger`: a tag for every word of a sentence, learned from CoNLL-U or from columns of words and tags."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tasks.texts.equal_texts import TOGETHER, expect_same_parts, kept_together
from cutaway.training.optimizers.schedules import Shape

if TYPE_CHECKING:
    from cutaway.data.text.lexicon import Lexicon
    from cutaway.data.text.tagged_sentences import Tagged, TaggedText
    from cutaway.data.text.vector_files import Vectors
    from cutaway.models.sequences.tagger import TaggerSpec
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.tasks.texts.tag import Probabilities
    from cutaway.tasks.texts.tagged_output import TaggedOutput
    from cutaway.training.jobs import Job

LEXICON = "lexicon.json"
_SAMPLES = 8  # sentences tagged at every evaluation


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

    def given_vectors(self, text: "TaggedText") -> "Vectors | None":
        """The vectors of the file that are taken: its first, and those of words of the training data."""
        if not self.vectors:
            return None
        from cutaway.data.text.vector_files import Vectors, read_vectors

        found = read_vectors(self.vectors)
        own = {form for sentence in text.train for word in sentence.words for form in (word, word.lower())}
        kept = [i for i, word in enumerate(found.words) if i < self.vector_words or word in own]
        if not any(found.words[i] in own for i in kept):
            raise ValueError(
                f"vectors must be of words of the data, got {self.vectors} with none of those of {text.name}; "
                "give vectors of its language"
            )
        return Vectors([found.words[i] for i in kept], found.matrix[kept])

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.atomic_files import write_json
        from cutaway.data.text.lexicon import Lexicon
        from cutaway.data.text.tag_batches import EncodedSentences, TagBatches
        from cutaway.models.sequences.tagger import Tagger
        from cutaway.tasks.texts import tag as tagging
        from cutaway.tasks.texts.tagged_output import write_samples
        from cutaway.training.jobs import Job

        text = self.dataset()
        vectors = self.given_vectors(text)
        words, tags = ([getattr(s, part) for s in text.train] for part in ("words", "tags"))
        lexicon = Lexicon.from_sentences(words, tags, vectors.words if vectors else ())
        if len(lexicon.tags) < 2:
            raise ValueError(
                f"a tagger needs at least two tags, got {text.name} where every tag is {lexicon.tags[0]!r}; "
                f"choose another column than column={self.column or 'upos'}"
            )
        train = EncodedSentences(text.train, lexicon, self.hide)
        validation = None if text.validation is None else EncodedSentences(text.validation, lexicon)
        torch.manual_seed(self.seed)
        model = Tagger(self.spec(lexicon, vectors.matrix.shape[1] if vectors else 0))
        if vectors:
            model.set_vectors(torch.from_numpy(vectors.matrix))
        batch = min(self.batch, len(text.train))
        shown = (text.train if text.validation is None else text.validation)[:_SAMPLES]
        return Job(
            model=model,
            batches=TagBatches(train, batch, self.seed, rank, world),
            objective=tagging.tag_cost,
            evaluate=lambda m: tagging.tag_metrics(m, validation),
            units=max(1, batch * len(train.types) // len(train)),
            unit="words",
            samples=lambda m: write_samples(m, lexicon, shown),
            files={LEXICON: lambda path: write_json(path, lexicon.to_dict())},
            data=self._facts(text, lexicon),
            whole=lambda m: tagging.whole_metrics(m, validation),
            better="error",
        )

    def _facts(self, text: "TaggedText", lexicon: "Lexicon") -> dict[str, Any]:
        """What config.json says of the data."""
        from cutaway.tasks.texts.tag import FrequentTags

        told: dict[str, Any] = {
            "summary": text.summary(),
            "fingerprint": text.fingerprint.to_dict(),
            TOGETHER: True,
            "source": self.data,
        }
        if text.validation is None:
            return told
        metrics = FrequentTags(text.train).metrics(text.validation, lexicon)
        return told | {"baseline": {"rule": FrequentTags.rule, "metrics": metrics}}

    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or vector_words={self.vector_words}"

    # ------------------------------------------------------------------------------------------------------------------

    def lexicon(self, run: "Run") -> "Lexicon":
        """What the run's model knows of words."""
        from cutaway.tasks.texts.tagged_output import read_lexicon

        return read_lexicon(run)

    def word_probabilities(self, run: "Run", sentences: "list[Tagged]") -> "Probabilities":
        """p(tag | sentence) of every word of every sentence."""
        from cutaway.data.text.tag_batches import EncodedSentences
        from cutaway.tasks.texts.tag import tag_probabilities

        return tag_probabilities(run.model, EncodedSentences(sentences, self.lexicon(run)))

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.data.text.tag_batches import EncodedSentences
        from cutaway.tasks.texts.tag import FrequentTags, whole_metrics

        text, lexicon = self.dataset(run), self.lexicon(run)
        sentences = text.open_test()
        naive = FrequentTags(text.train).metrics(sentences, lexicon)
        found = whole_metrics(run.model, EncodedSentences(sentences, lexicon))
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

        return tag_inputs(run, inputs, self.split, self.column, self.encoding)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        from cutaway.tasks.texts.tagged_output import sentence_subject

        if given is not None:
            first = next(filter(None, self.read_inputs(given)), "")  # of a file, its first sentence
            words = self.split(first) if isinstance(first, str) else first.words
            return sentence_subject(run, words, "your sentence")
        text = self.dataset(run)
        trained_on = text.validation is None
        some = text.train if text.validation is None else text.validation
        shown = min((s.words for s in some), key=lambda words: abs(len(words) - 12))
        return sentence_subject(run, shown, f"a sentence that it was {'' if trained_on else 'not '}trained on")
