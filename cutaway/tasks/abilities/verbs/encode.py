"""codes of images, by an autoencoder's encoder"""

from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from torch import Tensor


def encode(run: Any, images: Any) -> "Tensor":
    """Codes (n, width) of images: a path, several, arrays, tensors."""
    return expect_method(run, ABILITY)(images)


ABILITY = Ability(
    verb="encode",
    help=headline(__doc__),
    call=encode,
    needs="encode",
    cannot="encode images",
    about="Writes the code of each image: the few numbers from which the model makes the image again.",
    examples=("cutaway encode runs/vae-1 photos/ --out codes.npy",),
    inputs=(Flag("images", positional=True, required=True, holds="images", help="a folder or file of images"),),
    outputs=(Flag("codes", holds="vectors", help="a row for each image"),),
)
