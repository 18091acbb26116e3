# The lazy names of cutaway/__init__.py, for editors and type checkers.
from cutaway import blocks as blocks
from cutaway import catalogue as catalogue
from cutaway import data as data
from cutaway import hub as hub
from cutaway import look as look
from cutaway import models as models
from cutaway import recipes as recipes
from cutaway import runs as runs
from cutaway import tasks as tasks
from cutaway import training as training
from cutaway import tuning as tuning
from cutaway.hub import from_pretrained as from_pretrained
from cutaway.hub import load_adapter as load_adapter
from cutaway.hub import save_adapter as save_adapter
from cutaway.hub import save_pretrained as save_pretrained
from cutaway.inside.results import Seen as Seen
from cutaway.inside.taps import Tap as Tap
from cutaway.inside.tracing import addresses as addresses
from cutaway.inside.tracing import patch as patch
from cutaway.inside.tracing import trace as trace
from cutaway.look.flows import flow as flow
from cutaway.look.graphs import graph as graph
from cutaway.look.graphs import record as record
from cutaway.registry import register as register
from cutaway.runs.abilities import abilities as abilities
from cutaway.runs.execution import load as load
from cutaway.runs.execution import train as train
from cutaway.runs.tuning import tune as tune
from cutaway.training.adapters.bottlenecks import adapter as adapter
from cutaway.training.adapters.freezing import freeze as freeze
from cutaway.training.adapters.low_rank_layers import lora as lora
from cutaway.training.adapters.merging import merge as merge
from cutaway.training.adapters.merging import unmerge as unmerge
from cutaway.training.adapters.named_adapters import remove_adapter as remove_adapter
from cutaway.training.adapters.named_adapters import use as use
from cutaway.training.attacks.attacking import attack as attack

_PARTS: tuple[str, ...]
__version__: str
__all__: list[str]
