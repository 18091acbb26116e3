"""A verb of your own: asked of a run in Python, at the command line, and listed beside ours."""

import tempfile
from pathlib import Path
from typing import Any

import torch

import cutaway as cut
from cutaway.recipes import Ability, Flag


def surprise(run: Any, text: str) -> list[dict[str, Any]]:
    """How many bits each letter of a text costs the model: −log₂ p(letter | what came before)."""
    tokens = torch.as_tensor(run.tokenizer.encode(text)).long()
    with torch.no_grad():
        logits = run.model(tokens[None, :-1])[0]
    bits = -logits.log_softmax(-1).gather(1, tokens[1:, None])[:, 0] / torch.log(torch.tensor(2.0))
    letters = [run.tokenizer.decode([token]) for token in tokens[1:].tolist()]
    return [{"letter": letter, "bits": round(cost, 2)} for letter, cost in zip(letters, bits.tolist())]


def needs_next_tokens(run: Any) -> str:
    """ "" if a run can be asked, else why not."""
    return "" if run.recipe.name == "gpt" else "it does not read letter by letter"


cut.register(
    Ability(
        "surprise",
        "how many bits each letter of a text costs",
        call=surprise,
        check=needs_next_tokens,
        inputs=(Flag("text", positional=True, required=True, help="a text", holds="text"),),
        outputs=(Flag("letters", holds="table", help="a letter and its bits in each row"),),
        examples=("cutaway --with own_ability.py surprise runs/gpt-1 'The function'",),
    )
)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = cut.train("gpt", preset="small", steps=30, out=Path(folder) / "gpt", show="quiet")
        for row in run.surprise("returns"):
            print(row["letter"], row["bits"], "bits")
        print("this run can:", ", ".join(ability.verb for ability in cut.abilities(run)))
