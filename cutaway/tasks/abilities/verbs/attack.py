"""how little must change in an image for another class"""

from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

KINDS = ("noise", "fgsm", "pgd", "margin", "square")

ABILITY = Ability(
    verb="attack",
    help=headline(__doc__),
    call="cutaway.runs.attacked:attack",
    needs="labelled_inputs",
    cannot="be attacked: it does not give classes to images",
    about="""Changes images a little, so that the run gives them another class, and prints how many keep their class.

No pixel moves by more than --epsilon, on a scale from 0 (black) to 1 (white). Without images of yours, images are taken
that the run was not trained on. With --out picture.png (.svg, .html), some images are drawn with what was changed.""",
    examples=(
        "cutaway attack runs/cnn-1",
        "cutaway attack runs/cnn-1 --epsilon 0.3 --restarts 5 --count 0 --test",
        "cutaway attack runs/cnn-1 photos/ --kinds fgsm pgd --out attack.png",
        "cutaway attack runs/cnn-2 --source runs/cnn-1",
    ),
    inputs=(
        Flag("images", default="", positional=True, holds="images", help="a folder or file of images of yours"),
        Flag("epsilon", float, default=0.1, help="the most that a pixel may move, from 0 to 1"),
        Flag("kinds", several=True, choices=KINDS, default=KINDS, help="attacks to try"),
        Flag("steps", int, default=40, help="steps of pgd and margin"),
        Flag("step", float, optional=True, help="size of a step of pgd and margin (default: 2.5 epsilon / steps)"),
        Flag(
            "restarts",
            int,
            default=1,
            help="starts of pgd, margin and square; an image withstands only if it does so each time",
        ),
        Flag("squares", int, default=1000, help="squares that the square attack tries"),
        Flag(
            "source",
            default="",
            holds="path",
            help="another run: changes are made for it, and tried on this one, too",
        ),
        Flag("count", int, default=1000, help="images to attack, evenly spread; 0 for all"),
        Flag("test", bool, default=False, help="attack the test images, which no choice should depend on"),
        Flag("seed", int, default=0, help="the same seed gives the same changes"),
    ),
    outputs=(
        Flag("images", holds="text", help="which images were attacked"),
        Flag("right", float, holds="share by attack", help="the share of images that keep their class, by attack"),
    ),
    terminal=(
        Flag("out", default="", help="a picture to write: .png, .svg or .html"),
        Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
        Flag("json", bool, default=False, help="print JSON"),
    ),
    command="cutaway.commands.attack:main",
)
