"""An induction head, found and knocked out: a two-layer GPT learns here to copy what followed an earlier token.

A sequence of random tokens that repeats with a period nobody knows can be continued only by looking back: where did
this token stand before, and what came next? Olsson et al. 2022 found the circuit: a head of the first layer writes into
each token which one came before it; a head of the second, the induction head, looks for its own token in there.
"""

import argparse
from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

import cutaway as cut

VOCABULARY, TIME = 32, 32


def repeated(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences with a period of 8 to 16 tokens, and where the next token can be known."""
    tokens = torch.rand(batch, VOCABULARY).argsort(1)  # each period without a token twice
    period, at = torch.randint(8, 17, (batch, 1)), torch.arange(TIME)
    return tokens.gather(1, at % period), at[1:] >= period


def loss(model: torch.nn.Module, tokens: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    logits = model(tokens)[:, :-1]
    return cross_entropy(logits[known], tokens[:, 1:][known])


def train(steps: int, seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    model = cut.models.GPT.llama(vocabulary=VOCABULARY, width=64, depth=2, heads=2, context=TIME)
    optimizers = cut.training.build_optimizers(model, "muon", rate=3e-3)
    for step in range(1, steps + 1):
        cost = loss(model, *repeated(32))
        cost.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if step % max(1, steps // 6) == 0:
            print(f"step {step}: loss on repeated tokens {cost.item():.3f}")
    return model.eval()


def without(head: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A patch that leaves one head out."""
    return lambda outputs: outputs * (torch.arange(outputs.shape[1]) != head)[:, None, None]


@torch.no_grad()
def knock_out_each(model: torch.nn.Module) -> tuple[float, list[dict[str, float]], cut.look.Picture]:
    """The loss of the whole model; of each head its scores and the loss without it; and the scores as a picture."""
    text = torch.randperm(VOCABULARY)[:11].repeat(3)[None, :TIME]
    with cut.trace(model, "blocks.*.attention.weights") as seen:
        model(text)
    tokens, known = repeated(256)
    rows = []
    for layer, weights in enumerate(seen.values()):
        scores = cut.look.head_scores(weights[0], text[0].tolist())
        for head in range(weights.shape[1]):
            with cut.patch(model, {f"blocks.{layer}.attention.head_outputs": without(head)}):
                rows.append({"layer": layer, "head": head, "loss": loss(model, tokens, known).item()})
            rows[-1] |= {name: float(scores[name].values[head]) for name in ("previous", "induction")}
    return loss(model, tokens, known).item(), rows, cut.look.head_summary(seen, text[0].tolist())


if __name__ == "__main__":
    settings = argparse.ArgumentParser(description=__doc__)
    settings.add_argument("--steps", type=int, default=300)
    settings.add_argument("--seed", type=int, default=0)
    whole, rows, picture = knock_out_each(train(**vars(settings.parse_args())))
    print(f"\nloss where the next token can be known: {whole:.3f} (a guess among {VOCABULARY}: 3.466)")
    for name in ("induction", "previous"):
        best = max(rows, key=lambda row: row[name])
        print(
            f"the {name} head is {best['head']} of layer {best['layer']} (score {best[name]:.2f}): without it", end=" "
        )
        print(f"the loss is {best['loss']:.3f}, {best['loss'] / whole:.1f} times as much")
    print("what all heads do:", picture.save("heads.html"))
