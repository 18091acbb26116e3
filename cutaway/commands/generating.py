"""`cutaway generate RUN`: text from a trained language model."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from cutaway.commands.parsing import parse_flags


@dataclass(frozen=True)
class Generate:
    """Lets the model of a run go on from a prompt."""

    run: Annotated[str, tyro.conf.Positional]
    """the run folder (`cutaway import` makes one of a checkpoint)"""
    prompt: str = "\n"
    """what to go on from"""
    tokens: int = 200
    """how many to write"""
    temperature: float = 0.8
    """0 takes the most probable token always"""
    top_k: int | None = None
    """only the k most probable tokens"""
    top_p: float | None = None
    """only the most probable tokens that make up this share"""
    min_p: float | None = None
    """only tokens at least this share as probable as the best"""
    repetition_penalty: float = 1.0
    """above 1: what is there already becomes less likely"""
    seed: int | None = None
    """for the same text again"""
    stop: tuple[str, ...] = ()
    """end before any of these"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Generate, "cutaway generate", argv)
    from cutaway.recipes.runs import load

    names = ("tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "stop")
    text = load(asked.run).generate(asked.prompt, **{name: getattr(asked, name) for name in names})
    if asked.json:
        json.dump({"run": asked.run, "prompt": asked.prompt, "text": text}, sys.stdout, ensure_ascii=False)
        print()
    else:
        print(asked.prompt + text)
