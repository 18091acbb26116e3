"""what a trained model says of new rows or texts"""

from typing import Any

from cutaway.tasks.abilities.ability import Ability, Offer, expect_method, offers_of
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

EXAMPLE = "rows.csv"  # an input, where the recipe names none


def predict(run: Any, inputs: Any = None, data: Any = None, vertices: Any = None) -> Any:
    """Predictions for new inputs.

    Of a run on a graph, ``data`` is another graph with the same columns (its edges, and a table of its
    ``vertices``), in which the inputs are. Without inputs, all vertices of the graph.
    """
    offer = offers_of(type(run.recipe)).get("predict", Offer("predict"))
    inputs = (offer.everything or None) if inputs is None else inputs
    if data is not None:
        if (predict_in := find_method(run, "predict_in")) is None:
            raise ValueError(ABILITY.refusal(run, "in other data than its own, as its inputs are the data"))
        return predict_in(inputs or "", data, vertices)
    if vertices is not None:
        raise ValueError("a table of vertices goes with other data, got vertices without data; give its edges too")
    if inputs is None:
        raise ValueError(f"there must be something to predict for, got no inputs; give {offer.takes or EXAMPLE}")
    return expect_method(run, ABILITY)(inputs)


ABILITY = Ability(
    verb="predict",
    help=headline(__doc__),
    call=predict,
    needs="predict",
    following=" {takes}",
    differs=True,
    about="Predicts what the run was trained for, and prints it as CSV.",
    examples=(
        "cutaway predict runs/mlp-1 rows.csv",
        "cutaway predict runs/mlp-1 rows.csv --out predictions.csv",
        'cutaway predict runs/bert-1 "The [MASK] is returned."',
        "cutaway predict runs/cnn-1 photos/ --out classes.csv",
        "cutaway predict runs/tagger-1 text.conllu --out tagged.conllu",
        "cutaway predict runs/gcn-1 --data edges2.csv --vertices vertices2.csv",
    ),
    inputs=(
        Flag(
            "inputs",
            default="",
            positional=True,
            spelling="input",
            holds="path or text",
            help="a file or a text, as the model takes it: CSV or Parquet with or without the target, lines, CoNLL-U, "
            "series, a folder of images; - for standard input; of runs on a graph, none for all vertices",
        ),
        Flag(
            "data",
            default="",
            holds="path",
            help="of runs on a graph: the edges of another one, in which INPUT names vertices or pairs",
        ),
        Flag("vertices", default="", holds="path", help="the table of its vertices, with the columns of training"),
    ),
    outputs=(Flag("predictions", holds="table", help="a row for each input"),),
    terminal=(
        Flag("out", default="", help="a file to write instead of printing: .csv, .json or .parquet"),
        Flag("encoding", default="", help="encoding of the file (default: that of the training data)"),
        Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
        Flag("json", bool, default=False, help="print JSON, an object for each row"),
    ),
    command="cutaway.commands.predict:main",
)
