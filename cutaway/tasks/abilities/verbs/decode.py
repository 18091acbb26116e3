"""images of codes, by an autoencoder's decoder"""

from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from torch import Tensor


def decode(run: Any, codes: Any) -> "Tensor":
    """Images (n, channels, height, width) of codes (n, width), pixels from 0 to 1."""
    return expect_method(run, ABILITY)(codes)


ABILITY = Ability(
    verb="decode",
    help=headline(__doc__),
    call=decode,
    needs="decode",
    cannot="decode codes",
    about="Makes images of codes, as `cutaway encode` writes them, changed or not.",
    examples=("cutaway decode runs/vae-1 codes.npy --out images.npy",),
    inputs=(Flag("codes", positional=True, required=True, holds="vectors", help="a .npy or .csv file of codes"),),
    outputs=(Flag("images", holds="images", help="an image for each code, pixels from 0 to 1"),),
)
