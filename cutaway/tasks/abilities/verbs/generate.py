"""let a trained language model write, or translate"""

from typing import Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline


def generate(run: Any, prompt: Any = "\n", tokens: int = 200, **how: Any) -> str:
    """Text that goes on from the prompt, a text or a list of chat messages.

    ``how``: temperature, top_k, top_p, min_p, seed, stop, speculate, special …
    """
    return expect_method(run, ABILITY)(prompt, tokens=tokens, **how)


ABILITY = Ability(
    verb="generate",
    help=headline(__doc__),
    call=generate,
    needs="generate",
    cannot="generate text",
    following=" --prompt ...",
    about="""\
Lets the model of a run go on from a prompt; an encoder–decoder (transformer, T5) answers it, as a translation.

A translation is searched for, unless --temperature or another flag says how to draw one.""",
    examples=(
        'cutaway generate runs/gpt-1 --prompt "The function returns"',
        'cutaway generate runs/gpt-1 --prompt "class" --temperature 0 --tokens 50',
        "cutaway generate runs/transformer-1 --prompt 'May 3, 1984' --json",
    ),
    run="the run folder (`cutaway import` makes one of a checkpoint)",
    inputs=(
        Flag("prompt", default="\n", holds="text", help="what to go on from, or to translate"),
        Flag("tokens", int, default=200, help="how many to write, at most"),
        Flag(
            "temperature",
            float,
            optional=True,
            help="0 takes the most probable token always; by default 0.8 where a text goes on",
        ),
        Flag(
            "beams",
            int,
            optional=True,
            help="search for the most probable text with so many beginnings, instead of drawing one",
        ),
        Flag("top_k", int, optional=True, help="only the k most probable tokens"),
        Flag("top_p", float, optional=True, help="only the most probable tokens that make up this share"),
        Flag("min_p", float, optional=True, help="only tokens at least this share as probable as the best"),
        Flag("repetition_penalty", float, optional=True, help="above 1: what is there already becomes less likely"),
        Flag(
            "speculate",
            int,
            optional=True,
            help="guess up to so many tokens ahead where the text repeats itself: the same text, sooner; try 8",
        ),
        Flag("seed", int, optional=True, help="for the same text again"),
        Flag(
            "special",
            bool,
            default=False,
            help="special tokens in the prompt, such as <|im_start|>, are tokens and not plain text",
        ),
        Flag("stop", several=True, default=(), help="end before any of these"),
    ),
    outputs=(Flag("text", holds="text", help="what the model wrote"),),
    terminal=(
        Flag(
            "chat",
            bool,
            default=False,
            help="the prompt is what a user says: it is written as the checkpoint's chat template asks, and answered",
        ),
        Flag("json", bool, default=False, help="print JSON"),
    ),
    command="cutaway.commands.generate:main",
)
