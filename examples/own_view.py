"""A view of your own: a picture of a run, drawn by `cutaway look` and in the report beside ours."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import cutaway as cut


def letter_lengths(run: Any, subject: Any) -> cut.look.Picture:
    """How long the vector of each letter is: frequent letters are trained more often, and grow."""
    lengths = run.model.embed.weight.detach().norm(dim=1).numpy()
    letters = [run.tokenizer.decode([i]) for i in range(len(lengths))]
    order = np.argsort(-lengths)[:30]
    picture = cut.look.heatmap(
        lengths[order][None],
        rows=["length"],
        columns=[letters[i] for i in order],
        title="The longest letter vectors",
        axes=("", "letter"),
    )
    return picture.captioned("The further to the left a letter stands, the longer its vector has grown.")


# `suits` are the recipes that it is for, or a function of a run; `section` is the heading on the page.
cut.register(letter_lengths, suits="gpt", section="Embeddings")

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("the cat sat on the mat. the dog sat on the log. " * 200, encoding="utf-8")
        small = dict(width=32, depth=1, heads=2, context=16, batch=8, steps=60, tokenizer="characters")
        run = cut.train("gpt", data=str(text), out=Path(folder) / "gpt", show="quiet", **small)
        picture = letter_lengths(run, run.subject())
        print(picture)
        page = cut.runs.look_page(run, "the cat")
        print("on the page:", picture.title in page.to_html())
