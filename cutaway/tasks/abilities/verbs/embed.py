"""a vector for each text, word or image"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from torch import Tensor

_TEXTS = 2048  # embedded at a time
_CANNOT = "its model has no vectors of its inputs"


def embed(run: Any, inputs: Any) -> "Tensor":
    """A vector for each input (n, width): texts, words or images, as the recipe says; of a single text (width,)."""
    if (own := find_method(run, "embed")) is not None:
        return own(inputs)
    if not hasattr(run.model, "token_states"):
        raise ValueError(ABILITY.refusal(run, _CANNOT))
    return run.model.embed(inputs)


def check(run: Any) -> str:
    """Runs whose model has states of tokens embed texts, without a word of their recipe."""
    from cutaway.models.by_spec import model_class

    return "" if hasattr(model_class(run.about.get("spec")), "token_states") else _CANNOT


def items_to_embed(
    run: Any, source: str, column: str = "", encoding: str = "utf-8"
) -> "Iterator[tuple[list[str], Any]]":
    """What a source holds, piece by piece: names, and inputs as `embed` takes them; by default texts."""
    if (own := find_method(run, "embedded_items")) is not None:
        return own(source, column, encoding)
    from cutaway.data.labelled.unlabelled_texts import read_texts
    from cutaway.data.text.chunks import batched

    return ((texts, texts) for texts in batched(read_texts(source, column, encoding), _TEXTS))


ABILITY = Ability(
    verb="embed",
    help=headline(__doc__),
    call=embed,
    needs="embed",
    check=check,
    about="""Writes a vector for each text of a file: texts that mean the like have vectors that point alike.

Runs of text models and sentence-transformers' checkpoints embed texts, runs of word vectors words, runs of images the
images of a folder, of tables rows, of a graph its vertices (a file of names, or all), of many graphs each of them.
`cutaway nearest RUN "a question" --texts FILE` searches them.""",
    examples=(
        "cutaway embed my-checkpoint texts.txt --out vectors.npy",
        "cutaway embed runs/bert-1 reviews.csv --column review --out v.csv",
        "cutaway embed runs/cnn-1 photos/ --out vectors.csv",
        "cutaway embed runs/gcn-1 all --out vertices.npy",
    ),
    run="the run folder, or a checkpoint: a folder in the Hugging Face layout or a hub id",
    inputs=(
        Flag(
            "inputs",
            positional=True,
            required=True,
            spelling="texts",
            holds="path or texts",
            help="a file with one text a line, a table (CSV, TSV, JSON lines, Parquet), for runs of images a folder of "
            "them, for runs of a graph names of vertices or all",
        ),
    ),
    outputs=(Flag("vectors", holds="vectors", help="a row for each input"),),
    terminal=(
        Flag(
            "column",
            default="",
            help="the column of a table that holds the texts (default: found by its name, else the longest texts)",
        ),
        Flag(
            "out",
            default="",
            help="a file to write: .npy, .npz or .safetensors (the vectors), or .csv (texts and vectors); default: CSV "
            "on the screen",
        ),
        Flag("encoding", default="utf-8", help="encoding of the file"),
        Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
        Flag("json", bool, default=False, help="print JSON, an object with the text and its vector for each"),
    ),
    command="cutaway.commands.embed:main",
)
