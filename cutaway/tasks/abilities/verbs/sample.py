"""new images of a trained model"""

from typing import Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline


def sample(
    run: Any,
    count: int = 16,
    label: Any = None,
    guidance: float | None = None,
    steps: int | None = None,
    seed: int = 0,
) -> Any:
    """New images (count, channels, height, width), pixels from 0 to 1; of a class ``label``, or one for each.

    ``guidance`` and ``steps`` are for runs of `diffusion`, which without a label makes every class in turn (and
    with ``guidance=0`` images of no class); the same ``seed`` gives the same images. A run of `graph-rnn` gives a
    list of graphs, each a `cut.blocks.Graph`.
    """
    return expect_method(run, ABILITY)(count, label, guidance, steps, seed)


ABILITY = Ability(
    verb="sample",
    help=headline(__doc__),
    call=sample,
    needs="make_samples",
    cannot="make images or graphs",
    following="",
    about="""Makes new images with a run of `diffusion`, `vae` or `autoencoder`, or new graphs with one of `graph-rnn`.

Images are written as one grid; with --label all of them are of that class. An --out that ends in .npz keeps the
numbers, one without an ending is a folder with a file for each image. Graphs are written as a folder of GraphML with a
picture beside it, or by the ending of --out as one list of edges (.csv), an array (.npz) or a picture.""",
    examples=(
        "cutaway sample runs/diffusion-1 --label 7 --count 16 --out grid.png",
        "cutaway sample runs/diffusion-1 --guidance 3 --steps 50 --out clear.png",
        "cutaway sample runs/vae-1 --count 100 --seed 1 --out new-images/",
        "cutaway sample runs/graph-rnn-1 --count 8 --out new-graphs/",
    ),
    inputs=(
        Flag("label", default="", help="a class; without one, images of any (of diffusion: every class in turn)"),
        Flag("count", int, default=16, help="images or graphs to make"),
        Flag(
            "guidance",
            float,
            optional=True,
            help="of diffusion: how far to go towards the class; 1 adds nothing, 0 leaves it out (default: that of the "
            "run)",
        ),
        Flag("steps", int, optional=True, help="of diffusion: steps from noise to image (default: those of the run)"),
        Flag("seed", int, default=0, help="the same seed gives the same images or graphs"),
    ),
    outputs=(Flag("samples", holds="images or graphs", help="what was made"),),
    terminal=(
        Flag(
            "out",
            default="",
            help="a grid (.png, .svg, .html), an array (.npz), or a folder; of graphs also .csv (default: in the run)",
        ),
        Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
        Flag("json", bool, default=False, help="print JSON: the files"),
    ),
    command="cutaway.commands.sample:main",
)
