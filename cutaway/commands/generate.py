"""`cutaway generate RUN`: text from a trained language model, which goes on from a prompt or translates it."""

import json
import sys
from typing import Any

from cutaway.tasks.abilities.ability import offers_of


def main(asked: Any) -> None:
    from cutaway.models.generation.next_token import answers
    from cutaway.runs.execution import load

    if asked.beams is not None and asked.beams < 1:
        raise ValueError(f"beams must be at least 1, got {asked.beams}; leave it out to draw a text")
    run = load(asked.run)
    offer = offers_of(type(run.recipe)).get("generate")
    answer = offer is not None and offer.noun == "answer"
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
        print(text if answering or asked.chat or answer else asked.prompt + text)
