"""What recording a compute graph costs, beside the pass that it records. Aim: 5 forwards, 4 with the backward pass.

And what its page costs at the size of GPT-2 small. Aim: 2 s of processor time, 2 MB.
"""

import time

import torch
from timing import compare, show
from torch.nn.functional import cross_entropy

from cutaway.look.graphs import graph
from cutaway.models import GPT


def main() -> None:
    torch.manual_seed(0)
    model = GPT(vocabulary=65, width=64, depth=12, heads=4, context=64)
    tokens, targets = torch.randint(65, (2, 4, 64))
    loss = lambda tokens: cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    def shares() -> None:
        for edge in graph(loss, tokens).backward().edges:
            _ = edge.delta

    times = compare(
        {
            "forward": lambda: loss(tokens),
            "captured": lambda: graph(loss, tokens),
            "both": lambda: loss(tokens).backward(),
            "captured both": lambda: graph(loss, tokens).backward(),
            "shares": shares,
        },
        repeats=15,
    )
    show(
        "A compute graph of a 12-layer GPT, width 64, 4 × 64 tokens",
        [
            ("forward pass, recorded / plain (aim ≤ 5)", f"{times['captured'] / times['forward']:.2f}"),
            ("forward and backward, recorded / plain (aim ≤ 4)", f"{times['captured both'] / times['both']:.2f}"),
            ("the same, and every edge's share", f"{times['shares'] / times['both']:.2f}"),
            ("plain forward pass", f"{1000 * times['forward']:.1f} ms"),
        ],
    )


def page() -> None:
    """`g.to_html()` of a pass at the size of GPT-2 small, with all δ; the first call, which counts everything."""
    torch.manual_seed(0)
    model = GPT(vocabulary=50257, width=768, depth=12, heads=12, context=1024).eval()
    tokens = torch.randint(50257, (1, 16))
    loss = lambda tokens: cross_entropy(model(tokens)[0, :-1], tokens[0, 1:])
    rows = []
    for name, recorded in (("forward", graph(model, tokens)), ("with every δ", graph(loss, tokens).backward())):
        started = time.process_time()
        html = recorded.to_html()
        spent = time.process_time() - started
        rows.append((f"the page, {name} (aim ≤ 2 s, ≤ 2 MB)", f"{spent:.2f} s, {len(html.encode()) / 1e6:.2f} MB"))
    show("g.to_html() of GPT-2 small, 16 tokens: processor time and size", rows)


if __name__ == "__main__":
    main()
    page()
