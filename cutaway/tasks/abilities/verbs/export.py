"""make a Hugging Face checkpoint or a vector file of a run"""

from cutaway.tasks.abilities.ability import Ability
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

ABILITY = Ability(
    verb="export",
    help=headline(__doc__),
    call="cutaway.runs.checkpoints_in_and_out:export",
    check="cutaway.runs.checkpoints_in_and_out:export_refusal",
    cannot="be exported",
    about="""Writes a run's model as a checkpoint that transformers loads, or its word vectors as a file.

A head that transformers has no class for (one that reads the mean of a text, or all layers) is written beside the body,
with a README.md of the few lines that use both.""",
    examples=(
        "cutaway export runs/bert-1 --to my-checkpoint",
        "cutaway export runs/tuned-classify-1 --to my-adapter --adapter",
        "cutaway export runs/wordvectors-1 --to vectors.txt",
    ),
    inputs=(
        Flag(
            "to",
            required=True,
            holds="path",
            help="the folder to write; of word vectors the file: .txt or .vec, or .bin, as word2vec writes them, .gz "
            "to pack it",
        ),
        Flag(
            "adapter",
            bool,
            default=False,
            help="of a run that was tuned by LoRA or adapters: what it learned alone, as peft keeps it, instead of all "
            "weights",
        ),
    ),
    outputs=(Flag("path", holds="path", help="what was written"),),
    command="cutaway.commands.import_export:export_main",
)
