"""`cutaway nearest RUN WORD…`: the words or texts nearest to one, and analogies."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags
from cutaway.recipes.settings import setting


@dataclass(frozen=True)
class Nearest:
    """Prints the words whose vectors point most nearly as that of a word does, with the cosine of the angle between.

    Several words are asked one after another. With + and - between them they are one question: king - man + woman. Runs
    of `wordvectors`, imported vectors, and any run with embeddings of tokens have words to ask for, and runs of a graph
    its vertices. With --texts, the texts of a file that are nearest in meaning to a text of yours, by a model that
    embeds texts (`cutaway embed`); so are images, by the path of one, and rows of a table, by the number of one.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway nearest runs/wordvectors-1 string",
        "cutaway nearest runs/wordvectors-1 king - man + woman",
        "cutaway nearest runs/wordvectors-1 list dict --count 5 --json",
        'cutaway nearest my-checkpoint "undo a commit" --texts answers.txt',
        'cutaway nearest runs/mlp-1 "row 17" --texts rows.csv',
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder; with --texts also a checkpoint"""
    words: Annotated[tuple[str, ...], tyro.conf.Positional]
    """words, or one question with + and - between words; with --texts, texts in quotes"""
    count: int = 10
    """words to show; also -k"""
    texts: str = setting("", "search among texts", "PATH")
    """a file to search: one text a line, or a table; for runs of images a folder of them"""
    column: str = setting("", "search among texts")
    """the column of a table that holds the texts"""
    vectors: str = setting("", "search among texts", "PATH")
    """the vectors of these texts, as `cutaway embed … --out vectors.npy` wrote them; else they are computed"""
    encoding: str = setting("utf-8", "search among texts")
    """encoding of the file of texts"""
    approximate: bool = False
    """search by a graph of near words instead of all: faster where there are hundreds of thousands"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Nearest, "cutaway nearest", ["--count" if word == "-k" else word for word in argv])
    words = ["-" if word == "−" else word for word in asked.words]
    if not words:
        raise ValueError("nearest needs a word, got none; try cutaway nearest RUN word")
    if asked.count < 1:
        raise ValueError(f"--count must be at least 1, got {asked.count}; try --count 10")
    if asked.texts:
        show(nearest_texts(asked, words), asked.json, "text")
        return
    for name in ("column", "vectors"):
        if getattr(asked, name):
            raise ValueError(f"--{name} is for a search among texts, got no --texts; add --texts texts.txt")
    from cutaway.runs.execution import load

    run = load(asked.run)
    questions = [" ".join(words)] if {"+", "-"} & {*words, *" ".join(words).split()} else words
    found = {question: run.nearest(question, asked.count, approximate=asked.approximate) for question in questions}
    show(found, asked.json, "word")


def nearest_texts(asked: Nearest, questions: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    """For each question the nearest texts of a file."""
    from cutaway.runs.embedded_items import build_index, embed_pieces, joined, read_vectors, search, shown
    from cutaway.runs.opening import open_source

    run = open_source(asked.run)
    if asked.vectors:
        pieces = run.method("embedded_items")(asked.texts, asked.column, asked.encoding)
        names, vectors = [name for part, _ in pieces for name in part], read_vectors(asked.vectors)
        if len(names) != len(vectors):
            raise ValueError(
                f"--vectors must be those of --texts, got {len(vectors):,} vectors and {len(names):,} texts; "
                "make them again by `cutaway embed`"
            )
    else:
        names, vectors = joined(shown(embed_pieces(run, asked.texts, asked.column, asked.encoding)))
    index = build_index(vectors, asked.approximate)
    return {question: search(run, question, names, index, asked.count) for question in questions}


def show(found: dict[str, list[tuple[str, float]]], as_json: bool, kind: str) -> None:
    """Prints what was found, question by question."""
    if as_json:
        rows = [
            {"of": question, kind: word, "cosine": round(score, 6)}
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
