"""What reading one layer's attention weights costs, in a forward pass of 512 tokens. Aim: 1.3 times a plain pass."""

import torch
from timing import compare, show

import cutaway as cut
from cutaway.models import GPT


def main() -> None:
    torch.manual_seed(0)
    model = GPT(vocabulary=1000, width=256, depth=6, heads=8, context=512).eval()
    tokens = torch.randint(1000, (4, 512))

    @torch.no_grad()
    def plain() -> None:
        model(tokens)

    @torch.no_grad()
    def reading(address: str) -> None:
        with cut.trace(model, address):
            model(tokens)

    times = compare(
        {
            "plain": plain,
            "one layer": lambda: reading("blocks.3.attention.weights"),
            "all layers": lambda: reading("blocks.*.attention.weights"),
        },
        repeats=9,
    )
    show(
        "Reading attention weights: 6 layers, width 256, 8 heads, 4 × 512 tokens, time / plain forward pass",
        [
            ("one layer (aim ≤ 1.3)", f"{times['one layer'] / times['plain']:.2f}"),
            ("all layers", f"{times['all layers'] / times['plain']:.2f}"),
        ],
    )


if __name__ == "__main__":
    main()
