"""the words or texts nearest to one, and analogies"""

from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from cutaway.tasks.words.word_rows import WordRows

_SEARCH = "search among texts"


def word_rows(run: Any) -> "WordRows":
    """The words of a run and their vectors, which are searched: by default, its tokens' embeddings."""
    if (own := find_method(run, "word_rows")) is not None:
        return own()
    from cutaway.tasks.words.word_rows import embedded_tokens

    return embedded_tokens(run)


def check(run: Any) -> str:
    """Runs with a tokenizer and embeddings of its tokens have words to search, without a word of their recipe."""
    has_words = run.tokenizer is not None and hasattr(getattr(run.model, "embed", None), "weight")
    return "" if has_words else "it has no vectors of words or tokens"


ABILITY = Ability(
    verb="nearest",
    help=headline(__doc__),
    call="cutaway.runs.word_tables:nearest",
    needs="word_rows",
    check=check,
    cannot="search for the nearest words",
    following=" {word}",
    about="""\
Prints the words whose vectors point most nearly as that of a word does, with the cosine of the angle between.

Several words are asked one after another. With + and - between them they are one question: king - man + woman. Runs of
`wordvectors`, imported vectors, and any run with embeddings of tokens have words to ask for, and runs of a graph its
vertices. With --texts, the texts of a file that are nearest in meaning to a text of yours, by a model that embeds texts
(`cutaway embed`); so are images, by the path of one, and rows of a table, by the number of one.""",
    examples=(
        "cutaway nearest runs/wordvectors-1 string",
        "cutaway nearest runs/wordvectors-1 king - man + woman",
        "cutaway nearest runs/wordvectors-1 list dict --count 5 --json",
        'cutaway nearest my-checkpoint "undo a commit" --texts answers.txt',
        'cutaway nearest runs/mlp-1 "row 17" --texts rows.csv',
    ),
    run="the run folder; with --texts also a checkpoint",
    inputs=(
        Flag(
            "words",
            several=True,
            positional=True,
            required=True,
            holds="text",
            help="words, or one question with + and - between words; with --texts, texts in quotes",
        ),
        Flag("k", int, default=10, spelling="count", short="-k", help="words to show; also -k"),
        Flag("negative", several=True, default=(), on_terminal=False, help="words to subtract"),
        Flag(
            "approximate",
            bool,
            default=False,
            help="search by a graph of near words instead of all: faster where there are hundreds of thousands",
        ),
        Flag("among", several=True, optional=True, on_terminal=False, help="texts to search instead of words"),
    ),
    outputs=(Flag("nearest", several=True, holds="word and cosine", help="the nearest first"),),
    terminal=(
        Flag(
            "texts",
            default="",
            heading=_SEARCH,
            metavar="PATH",
            help="a file to search: one text a line, or a table; for runs of images a folder of them",
        ),
        Flag("column", default="", heading=_SEARCH, help="the column of a table that holds the texts"),
        Flag(
            "vectors",
            default="",
            heading=_SEARCH,
            metavar="PATH",
            help="the vectors of these texts, as `cutaway embed … --out vectors.npy` wrote them; else they are "
            "computed",
        ),
        Flag("encoding", default="utf-8", heading=_SEARCH, help="encoding of the file of texts"),
        Flag("json", bool, default=False, help="print JSON"),
    ),
    command="cutaway.commands.nearest:main",
)
