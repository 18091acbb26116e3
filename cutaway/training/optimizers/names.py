"""The optimizers by name, where command lines and recipes can read them without torch; `groups.py` builds them."""

from typing import Literal, get_args

Optimizer = Literal[
    "muon", "adamw", "adam", "amsgrad", "nadam", "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adadelta"
]
NAMES: tuple[str, ...] = get_args(Optimizer)
