"""measure a trained model on its test split, once"""

from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

ABILITY = Ability(
    verb="test",
    help=headline(__doc__),
    call="cutaway.runs.testing:test",
    needs="test_metrics",
    cannot="be tested",
    following="",
    about="""Reads the test split of a run, once, and prints the metrics, which the run folder and its report then hold.

The test split is for one last look. To choose between models, compare their validation metrics.""",
    examples=("cutaway test runs/gpt-1", "cutaway test runs/mlp-1 --json"),
    inputs=(
        Flag(
            "unfinished",
            bool,
            default=False,
            help="read the test split of a run that is not finished, with its newest weights",
        ),
    ),
    outputs=(Flag("metrics", float, holds="figure by name", help="metrics on the test split, and of baselines"),),
    terminal=(Flag("json", bool, default=False, help="print JSON"),),
    command="cutaway.commands.test:main",
)
