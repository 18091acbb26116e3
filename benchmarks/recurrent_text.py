"""Recurrent language models: a step of the `lstm` recipe beside a plain PyTorch loop, and quality at equal time.

python benchmarks/run.py recurrent_text             the step alone, a minute
python benchmarks/recurrent_text.py quality 1100    tinyshakespeare, so many processor seconds of one thread for each

The plain loop is what one would write with torch.nn: Embedding, LSTM and Linear, AdamW, a state carried from batch to
batch. Quality is the loss on the whole last tenth of tinyshakespeare, by characters. The settings were chosen on that
tenth, and the weights kept are the best on a part of it.
"""

import sys
import time
from typing import Any

import torch
from timing import compare, show
from torch import nn
from trials import loop_of, shakespeare

from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.recipes.texts.markov import MarkovRecipe
from cutaway.recipes.texts.recurrent import GRURecipe, LSTMRecipe, RNNRecipe
from cutaway.training.loop import Loop

SHARED: dict[str, Any] = dict(validation=0.1, test=0.0, tokenizer="characters")


def plain_step(recipe: LSTMRecipe, tokens: Any, vocabulary: int) -> Any:
    """A step of the same model and batch, written with torch.nn."""
    embed = nn.Embedding(vocabulary, recipe.embedding)
    lstm = nn.LSTM(recipe.embedding, recipe.width, recipe.depth, batch_first=True)
    output = nn.Linear(recipe.width, vocabulary)
    parameters = [*embed.parameters(), *lstm.parameters(), *output.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=recipe.rate, fused=True)
    state = None
    starts = torch.randint(len(tokens) - recipe.context * 1000, (recipe.batch,))

    def step() -> None:
        nonlocal state, starts
        window = tokens[starts[:, None] + torch.arange(recipe.context + 1)]
        starts = starts + recipe.context
        hidden, new = lstm(embed(window[:, :-1]), state)
        state = tuple(part.detach() for part in new)
        loss = nn.functional.cross_entropy(output(hidden).flatten(0, 1), window[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, recipe.clip)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    return step


def step_rows() -> list[tuple[str, str]]:
    rows = []
    for width, context in ((256, 64), (384, 128)):
        recipe = LSTMRecipe(data="python-docs", width=width, context=context, optimizer="adamw", steps=10_000)
        loop = loop_of(recipe)
        tokens = torch.from_numpy(recipe.read().parts.train[:].astype("int64"))
        plain = plain_step(recipe, tokens, loop.model.spec.vocabulary)
        seconds = compare({"ours": loop._advance, "plain": plain}, repeats=15)
        name = f"lstm recipe / plain torch.nn loop, one step, width {width}, batch {recipe.batch} × {context}"
        rows.append((name, f"{seconds['ours'] / seconds['plain']:.2f}  ({seconds['ours'] * 1e3:.0f} ms)"))
    return rows


def quality(recipe: Any, seconds: float) -> str:
    """A run whose schedule fits into so many processor seconds, by the time of its first steps."""
    if seconds and recipe.name != "markov":
        trial = loop_of(recipe)
        trial._advance()
        started = time.process_time()
        for _ in range(5):
            trial._advance()
        recipe = type(recipe)(**recipe.to_dict() | {"steps": int(seconds / ((time.process_time() - started) / 5))})
    job = recipe.job()
    loop = Loop(job, *_plan(recipe, job))
    started = time.process_time()
    loop.run()
    weights = sum(p.numel() for p in loop.model.parameters())
    loss = loop.metrics["whole_validation_loss"]
    return f"{loss:.4f}, {weights:,} weights, {recipe.steps:,} steps, {time.process_time() - started:.0f} s"


def _plan(recipe: Any, job: Any) -> tuple[Any, Any]:
    from cutaway.runs.execution import optimizers_of, plan_of

    return optimizers_of(recipe, job.model), plan_of(recipe, torch.device("cpu"))


def quality_rows(seconds: float) -> list[tuple[str, str]]:
    data = dict(data=shakespeare(), **SHARED)
    recurrent = data | dict(width=384, context=128, dropout=0.2, evaluate_every=200, sample_tokens=0)
    recipes: dict[str, Any] = {
        "lstm": LSTMRecipe(**recurrent),
        "gpt of the same size": GPTRecipe(**data, **GPT_SIZE, evaluate_every=200, sample_tokens=0),
        "gru": GRURecipe(**recurrent | {"width": 448}),
        "rnn": RNNRecipe(**recurrent | {"width": 800, "muon_rate": 0.02}),
    }
    rows = [(f"{name}, {seconds:.0f} s", quality(recipe, seconds)) for name, recipe in recipes.items()]
    chains = {order: MarkovRecipe(**data, order=order, sample_tokens=0) for order in (3, 5, 7, 9)}
    return rows + [(f"markov, order {order}", quality(recipe, 0)) for order, recipe in chains.items()]


GPT_SIZE: dict[str, Any] = dict(width=128, depth=4, heads=4, context=128, batch=32, rate=1e-2)


def main() -> None:
    show("Recurrent language models: a training step", step_rows())


if __name__ == "__main__":
    if sys.argv[1:2] == ["quality"]:
        torch.set_num_threads(1)
        show("Loss on tinyshakespeare", quality_rows(float(sys.argv[2])))
    else:
        main()
