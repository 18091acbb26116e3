"""LoRA by hand: the share that is trained, the rank of what it learned, and merging it into the weights.

A small GPT that knows one text is tuned to another through matrices of rank 4 alone. What changed in a weight is then
a matrix of rank 4, which can be put into the weight, taken out again bit for bit, or saved as a small file.
"""

import tempfile
from pathlib import Path

import torch

import cutaway as cut


def loss_of(model: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    logits = model(tokens[:, :-1])
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train(model: torch.nn.Module, tokens: torch.Tensor, steps: int, rate: float) -> float:
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate)
    for _ in range(steps):
        loss = loss_of(model, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    torch.manual_seed(0)
    words = {
        name: torch.tensor([[*text.encode()]])
        for name, text in {"one": "to be or not to be", "two": "or not to be to be"}.items()
    }
    model = cut.models.GPT(vocabulary=128, width=32, depth=2, heads=4, context=32)
    learned = train(model, words["one"], 60, 1e-2)
    print(f"one text learned: loss {learned:.3f}; of the other {loss_of(model, words['two']):.3f}")

    summary = cut.lora(model, "blocks.*.attention", rank=4)  # queries, keys, values and the map behind them
    print(summary)
    print(f"the other text learned: loss {train(model, words['two'], 120, 3e-2):.3f}")
    with cut.use(model, None):
        print(f"without the adapter the model knows the first: loss {loss_of(model, words['one']):.3f}")

    before = model.blocks[0].attention.qkv.weight.detach().clone()
    tuned = model(words["two"])
    print(cut.merge(model))
    change = model.blocks[0].attention.qkv.weight.detach() - before
    parts = dict(zip(("queries", "keys", "values"), change.split(32, -1), strict=True))
    ranks = {name: int(torch.linalg.matrix_rank(part, rtol=1e-4)) for name, part in parts.items()}
    print(f"rank of the change: {ranks}; merged, the outputs differ by {(model(words['two']) - tuned).abs().max():.1g}")
    cut.unmerge(model)
    print(
        f"unmerged, the weights are the same bit for bit: {torch.equal(model.blocks[0].attention.qkv.weight, before)}"
    )

    with tempfile.TemporaryDirectory() as folder:
        cut.save_adapter(model, folder)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"saved alone: {size / 1000:.0f} kB, of {4 * sum(p.numel() for p in model.parameters()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
