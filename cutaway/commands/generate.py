"""`cutaway generate RUN`: text from a trained language model, which goes on from a prompt or translates it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Generate:
    """Lets the model of a run go on from a prompt; an encoder–decoder (transformer, T5) answers it, as a translation.

    A translation is searched for, unless --temperature or another flag says how to draw one.
    """

    examples: ClassVar[tuple[str, ...]] = (
        'cutaway generate runs/gpt-1 --prompt "The function returns"',
        'cutaway generate runs/gpt-1 --prompt "class" --temperature 0 --tokens 50',
        "cutaway generate runs/transformer-1 --prompt 'May 3, 1984' --json",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder (`cutaway import` makes one of a checkpoint)"""
    prompt: str = "\n"
    """what to go on from, or to translate"""
    tokens: int = 200
    """how many to write, at most"""
    temperature: float | None = None
    """0 takes the most probable token always; by default 0.8 where a text goes on"""
    beams: int | None = None
    """search for the most probable text with so many beginnings, instead of drawing one"""
    top_k: int | None = None
    """only the k most probable tokens"""
    top_p: float | None = None
    """only the most probable tokens that make up this share"""
    min_p: float | None = None
    """only tokens at least this share as probable as the best"""
    repetition_penalty: float | None = None
    """above 1: what is there already becomes less likely"""
    speculate: int | None = None
    """guess up to so many tokens ahead where the text repeats itself: the same text, sooner; try 8"""
    seed: int | None = None
    """for the same text again"""
    chat: bool = False
    """the prompt is what a user says: it is written as the checkpoint's chat template asks, and answered"""
    special: bool = False
    """special tokens in the prompt, such as <|im_start|>, are tokens and not plain text"""
    stop: tuple[str, ...] = ()
    """end before any of these"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Generate, "cutaway generate", argv)
    from cutaway.models.generation.next_token import answers
    from cutaway.runs.execution import load

    if asked.beams is not None and asked.beams < 1:
        raise ValueError(f"beams must be at least 1, got {asked.beams}; leave it out to draw a text")
    run = load(asked.run)
    answering = answers(run.model)
    names = ("temperature", "beams", "top_k", "top_p", "min_p", "repetition_penalty", "speculate", "seed")
    how = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None}
    if not answering and asked.beams in (None, 1):
        how.setdefault("temperature", 0.8)
    if asked.special:
        how["special"] = True
    prompt = [{"role": "user", "content": asked.prompt}] if asked.chat else asked.prompt
    text = run.generate(prompt, tokens=asked.tokens, stop=asked.stop, **how)
    if asked.json:
        json.dump({"run": asked.run, "prompt": asked.prompt, "text": text}, sys.stdout, ensure_ascii=False)
        print()
    else:
        print(text if answering or asked.chat or run.recipe.answers else asked.prompt + text)
