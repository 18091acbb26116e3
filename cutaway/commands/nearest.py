"""`cutaway nearest RUN WORD…`: the words nearest to a word, and analogies."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Nearest:
    """Prints the words whose vectors point most nearly as that of a word does, with the cosine of the angle between.

    Several words are asked one after another. With + and - between them they are one question: king - man + woman. Runs
    of `wordvectors`, imported vectors, and any run with embeddings of tokens have words to ask for.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway nearest runs/wordvectors-1 string",
        "cutaway nearest runs/wordvectors-1 king - man + woman",
        "cutaway nearest runs/wordvectors-1 list dict --count 5 --json",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    words: Annotated[tuple[str, ...], tyro.conf.Positional]
    """words, or one question with + and - between words"""
    count: int = 10
    """words to show"""
    approximate: bool = False
    """search by a graph of near words instead of all: faster where there are hundreds of thousands"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Nearest, "cutaway nearest", argv)
    words = ["-" if word == "−" else word for word in asked.words]
    if not words:
        raise ValueError("nearest needs a word, got none; try cutaway nearest RUN word")
    if asked.count < 1:
        raise ValueError(f"--count must be at least 1, got {asked.count}; try --count 10")
    from cutaway.runs.execution import load

    run = load(asked.run)
    questions = [" ".join(words)] if {"+", "-"} & {*words, *" ".join(words).split()} else words
    found = {question: run.nearest(question, asked.count, approximate=asked.approximate) for question in questions}
    if asked.json:
        rows = [
            {"of": question, "word": word, "cosine": round(score, 6)}
            for question, pairs in found.items()
            for word, score in pairs
        ]
        json.dump(rows, sys.stdout, ensure_ascii=False)
        print()
        return
    from cutaway.look.style.wording import visible

    for question, pairs in found.items():
        print(question)
        shown = [(visible(word, 40) if word.strip() != word else word, score) for word, score in pairs]
        wide = max((len(word) for word, _ in shown), default=0)
        for word, score in shown:
            print(f"  {word:<{wide}}  {score:.3f}")
