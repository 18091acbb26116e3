"""`cutaway demo`: the tour. Trains a small GPT on text that every Python has, lets it write, and opens its insides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutaway.commands.flags import parse_flags


@dataclass(frozen=True)
class Demo:
    """Trains a small GPT on Python's own documentation, about a minute on two cores; shows a sample and its insides."""

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway demo",
        "cutaway demo --steps 100",
    )

    steps: int = 400
    """optimizer steps; fewer are quicker and write worse"""
    out: str = ""
    """the run folder (default: the next free one in runs/)"""


PROMPT = "The function returns"


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Demo, "cutaway demo", argv)
    from cutaway.recipes.index import find_recipe
    from cutaway.runs.execution import train

    settings = dict(preset="small", data="python-docs", test=0.05, steps=asked.steps)
    find_recipe("gpt").make(**settings)  # a wrong setting is told before the tour begins
    print("1. A small GPT learns to write Python's documentation, character by character.\n")
    run = train("gpt", out=asked.out or None, **settings)

    print(f"\n2. It goes on from {PROMPT!r}:\n")
    print("   " + run.generate(PROMPT, tokens=240, temperature=0.7, seed=1).replace("\n", "\n   "))

    print(
        "\n3. Its insides. Every value of every equation has an address; here is what the heads of layer 1 look at:\n"
    )
    print(look_inside(run))

    print(f"\n4. The whole story, with loss curves and attention maps: {run.path / 'report.html'} (opens offline)")
    print(f"   Go on: cutaway generate {run.path} --prompt 'class'   or, in Python: cut.load('{run.path}').model")


def look_inside(run: object) -> str:
    """For the last character of the prompt: where each head of the second layer looks most."""
    import torch

    import cutaway as cut

    model, tokenizer = run.model, run.tokenizer  # type: ignore[attr-defined]
    tokens = torch.as_tensor(tokenizer.encode(PROMPT))[None].long()
    with torch.no_grad(), cut.trace(model, "blocks.1.attention.weights") as seen:
        model(tokens)
    rows = seen["blocks.1.attention.weights"][0, :, -1]
    lines = [f"   head  weight   looks at (of {PROMPT!r}, from its last character)"]
    for head, row in enumerate(rows):
        best = int(row.argmax())
        marked = f"{PROMPT[:best]}[{PROMPT[best]}]{PROMPT[best + 1 :]}"
        lines.append(f"   {head:>4}  {row[best].item():>6.2f}   {marked}")
    return "\n".join(lines)
