"""`cutaway nearest RUN WORD…`: the words or texts nearest to one, and analogies."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from cutaway.tasks.abilities.verbs.embed import items_to_embed


def main(asked: Any) -> None:
    words = ["-" if word == "−" else word for word in asked.words]
    if not words:
        raise ValueError("nearest needs a word, got none; try cutaway nearest RUN word")
    if asked.k < 1:
        raise ValueError(f"--count must be at least 1, got {asked.k}; try --count 10")
    if asked.texts:
        show(nearest_texts(asked, words), asked.json, "text")
        return
    for name in ("column", "vectors"):
        if getattr(asked, name):
            raise ValueError(f"--{name} is for a search among texts, got no --texts; add --texts texts.txt")
    from cutaway.runs.execution import load

    run = load(asked.run)
    questions = [" ".join(words)] if {"+", "-"} & {*words, *" ".join(words).split()} else words
    found = {question: run.nearest(question, asked.k, approximate=asked.approximate) for question in questions}
    show(found, asked.json, "word")


def nearest_texts(asked: Any, questions: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    """For each question the nearest texts of a file."""
    from cutaway.runs.embedded_items import build_index, embed_pieces, joined, read_vectors, search, shown
    from cutaway.runs.opening import open_source

    run = open_source(asked.run)
    if asked.vectors:
        pieces = items_to_embed(run, asked.texts, asked.column, asked.encoding)
        names, vectors = [name for part, _ in pieces for name in part], read_vectors(asked.vectors)
        if len(names) != len(vectors):
            raise ValueError(
                f"--vectors must be those of --texts, got {len(vectors):,} vectors and {len(names):,} texts; "
                "make them again by `cutaway embed`"
            )
    else:
        names, vectors = joined(shown(embed_pieces(run, asked.texts, asked.column, asked.encoding)))
    index = build_index(vectors, asked.approximate)
    return {question: search(run, question, names, index, asked.k) for question in questions}


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
