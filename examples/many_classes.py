"""Output layers for many classes: six of them learn the same 2,000 words, each touching as few of them as it may.

A word belongs to one of 20 topics; a vector z says the topic, with noise. How frequent words are follows Zipf's law.

python examples/many_classes.py [folder for the picture]
"""

import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import cutaway as cut

WORDS, TOPICS, WIDTH, BATCH = 2000, 20, 24, 256
blocks = cut.blocks
frequencies = 1 / torch.arange(1, WORDS + 1)


def draw(examples: int, directions: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Words as they come, and for each a noisy vector of its topic, which is the word's number modulo 20."""
    words = torch.multinomial(frequencies, examples, replacement=True, generator=generator)
    noise = torch.randn(examples, WIDTH, generator=generator)
    return directions[words % TOPICS] + 0.3 * noise, words


def main(folder: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    directions = 2 * torch.randn(TOPICS, WIDTH, generator=generator)
    z_test, y_test = draw(2000, directions, generator)
    prior = frequencies / frequencies.sum()
    print(f"{'layer':<38}{'rows a word':>12}{'nats':>8}")
    print(f"{'frequencies alone':<38}{'':>12}{-prior[y_test].log().mean():>8.2f}")

    huffman = blocks.Tree.huffman(frequencies)
    layers = {
        "full softmax": (blocks.FullSoftmax(WIDTH, WORDS), WORDS),
        "hierarchical, balanced": (blocks.HierarchicalSoftmax(WIDTH, WORDS), blocks.Tree.balanced(WORDS).depth),
        "hierarchical, Huffman": (
            blocks.HierarchicalSoftmax(WIDTH, WORDS, huffman),
            huffman.mean_depth(frequencies),
        ),
        "sampled softmax": (blocks.SampledSoftmax(WIDTH, WORDS, 100, counts=frequencies), 101),
        "NCE": (blocks.NCE(WIDTH, WORDS, 25, counts=frequencies), 26),
        "negative sampling": (blocks.NegativeSampling(WIDTH, WORDS, 25, counts=frequencies, bias=True), 26),
    }
    for name, (layer, rows) in layers.items():
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.005)
        for _ in range(300):
            z, words = draw(BATCH, directions, generator)
            optimizer.zero_grad()
            layer.loss(z, words, generator).backward()
            optimizer.step()
        with torch.no_grad():
            log_p = layer.log_probabilities(z_test)  # of all of them, whatever they were trained on
        assert torch.allclose(log_p.exp().sum(-1), torch.ones(()), atol=1e-4)
        print(f"{name:<38}{rows:>12.1f}{-log_p.gather(1, y_test[:, None]).mean():>8.2f}")

    # Where the tree takes one vector: the path to its likeliest word, with the probability of every decision.
    tree_layer, _ = layers["hierarchical, Huffman"]
    best = tree_layer.top(z_test[:1], 3)
    names = [f"word {i}" for i in range(WORDS)]
    p = tree_layer(z_test[0]).exp().detach()
    picture = cut.look.class_tree(tree_layer.tree.to_nested(), names, target=int(best.indices[0, 0]), probabilities=p)
    print(
        "likeliest:", [(names[i], round(v, 2)) for v, i in zip(best.values[0].exp().tolist(), best.indices[0].tolist())]
    )
    print("picture:", picture.save(folder / "tree.html"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
