"""Output layers for many classes: steps of training beside the full softmax's; lookups, products; near vectors."""

import io
import lzma
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from timing import compare, show
from torch import Tensor, nn

from cutaway.blocks import NCE, HierarchicalSoftmax, NegativeSampling, OutputLayer, SampledSoftmax, Tree, embed, one_hot
from cutaway.look import VectorIndex, recall

CLASSES, BATCH, WIDTH, THREADS = 100_000, 512, 128, 2
FREQUENCIES = 1 / torch.arange(1, CLASSES + 1)  # Zipf's law


def full_step(z: Tensor, y: Tensor) -> Callable[[], object]:
    """One step of torch's own: a linear layer, cross entropy, SGD."""
    layer = nn.Linear(WIDTH, CLASSES)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(layer(z), y).backward()
        optimizer.step()

    return step


def sparse_step(layer: OutputLayer, z: Tensor, y: Tensor) -> Callable[[], object]:
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        layer.loss(z, y).backward()
        optimizer.step()

    return step


def steps() -> None:
    z = torch.randn(BATCH, WIDTH, requires_grad=True)
    y = torch.multinomial(FREQUENCIES, BATCH, replacement=True)
    sizes = (WIDTH, CLASSES)
    huffman = Tree.huffman(FREQUENCIES)
    layers = {
        "hierarchical softmax, balanced": HierarchicalSoftmax(*sizes, sparse=True),
        "hierarchical softmax, Huffman": HierarchicalSoftmax(*sizes, huffman, sparse=True),
        "sampled softmax, 64 samples": SampledSoftmax(*sizes, counts=FREQUENCIES, sparse=True),
        "NCE, 25 samples": NCE(*sizes, counts=FREQUENCIES, sparse=True),
        "negative sampling, 5 samples": NegativeSampling(*sizes, counts=FREQUENCIES, sparse=True),
    }
    works = {"full softmax (torch)": full_step(z, y)}
    works |= {name: sparse_step(layer, z, y) for name, layer in layers.items()}
    for name in layers:
        works[name]()
        works[name]()
    times = compare(works, repeats=7)
    full = times["full softmax (torch)"]
    rows = [("full softmax (torch)", f"{1e3 * full:8.1f} ms")]
    rows += [(name, f"{1e3 * times[name]:8.2f} ms   full / this {full / times[name]:6.0f}") for name in layers]
    rows.append(("asked of the balanced tree", "full / this ≥ 100"))
    balanced = Tree.balanced(CLASSES).mean_depth(FREQUENCIES)
    rows.append(
        ("decisions for a class, balanced and Huffman", f"{balanced:.1f} and {huffman.mean_depth(FREQUENCIES):.1f}")
    )
    for dtype, asked in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        layer = HierarchicalSoftmax(*sizes).to(dtype)
        with torch.no_grad():
            error = (layer(z[:32].detach().to(dtype)).exp().sum(-1) - 1).abs().max().item()
        rows.append((f"largest error of the sum of probabilities, {dtype}", f"{error:.1e} (asked ≤ {asked:g})"))
    show(f"One step of SGD: {CLASSES:,} classes, batch {BATCH}, width {WIDTH}; medians of 7", rows)


def lookups() -> None:
    table, tokens = torch.randn(10_000, WIDTH), torch.randint(10_000, (BATCH,))
    times = compare(
        {"lookup": lambda: embed(tokens, table), "product": lambda: one_hot(tokens, len(table)).to(table) @ table}
    )
    show(
        f"An embedding of {len(table):,} rows as a lookup, and as one-hot × matrix; {BATCH} tokens, medians of 7",
        [
            ("one-hot × matrix", f"{1e3 * times['product']:.1f} ms, {BATCH * table.numel():,} multiplications"),
            ("lookup", f"{1e3 * times['lookup']:.3f} ms, none"),
            ("product / lookup", f"{times['product'] / times['lookup']:.0f}"),
        ],
    )


def vectors() -> tuple[str, np.ndarray]:
    """GloVe's where the data folder is, else clusters of random ones."""
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "weights/glove"
    if folder.is_dir():
        packed = (folder / "glove.6B.50d.top20k.f16.npy.xz").read_bytes()
        return "GloVe", np.load(io.BytesIO(lzma.decompress(packed))).astype(np.float32)
    numbers = np.random.default_rng(0)
    centres = numbers.normal(size=(200, 50))
    return "clustered", (centres[numbers.integers(200, size=20_000)] + numbers.normal(size=(20_000, 50))).astype(
        np.float32
    )


def searches() -> None:
    name, x = vectors()
    queries = x[np.random.default_rng(1).choice(len(x), 500, replace=False)]
    rows = []
    for by in ("cosine", "dot"):
        exact = VectorIndex(x, by)
        truth, indices = exact.search(queries, 10), {"exact": exact}
        built = {}
        for kind in ("hnsw", "ivf"):
            started = time.perf_counter()
            indices[kind] = VectorIndex(x, by, kind)
            built[kind] = time.perf_counter() - started
        times = compare({kind: lambda index=index: index.search(queries, 10) for kind, index in indices.items()})
        rows.append((f"{by}, exact", f"{1e6 * times['exact'] / len(queries):.0f} µs a query"))
        for kind, seconds in built.items():
            rows.append(
                (
                    f"{by}, {kind}",
                    f"{1e6 * times[kind] / len(queries):.0f} µs, exact / this {times['exact'] / times[kind]:.1f}, "
                    f"recall@10 {recall(indices[kind].search(queries, 10), truth):.3f}, built in {seconds:.1f} s",
                )
            )
    show(
        f"The 10 nearest of {len(x):,} {name} vectors of {x.shape[1]} numbers, 500 queries at once; medians of 7", rows
    )


def main() -> None:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    steps()
    lookups()
    searches()
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
