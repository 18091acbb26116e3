"""Word vectors of a text: train, ask for near words, take the steps apart, and write the vectors for other programs."""

import tempfile
from pathlib import Path

import torch

import cutaway as cut
from cutaway.blocks.embeddings.word_windows import cbow_gradients, cbow_loss, window_rows

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = cut.train("wordvectors", passes=4.0, steps=20, width=50, out=Path(folder) / "run", show="quiet")
        for word in ("raise", "dict", "true"):
            near = ", ".join(f"{other} ({cosine:.2f})" for other, cosine in run.nearest(word, k=4))
            print(f"{word}: {near}")
        print("raises - raise + return:", run.nearest("raises - raise + return", k=3))

        # The vectors as word2vec writes them: gensim, spaCy and others read this file.
        written_to = run.export(f"{folder}/vectors.txt")
        print(written_to.read_text(encoding="utf-8").splitlines()[0])  # words and numbers of each

    # What a step learns from: windows as a band, and a gradient that is written out. Autograd agrees.
    torch.manual_seed(0)
    words, window, width, negatives = 6, 2, 4, 3
    A = window_rows(window, words)[-words:].unsqueeze(0)  # every window reaches two words to either side
    c = torch.ones(1, words)
    V, U, N = (torch.randn(1, n, width, requires_grad=True) for n in (words + 2 * window, words, negatives))
    loss = cbow_loss(A, c, V, U, N, n=5)
    loss.backward()
    written = cbow_gradients(A, c, V.detach(), U.detach(), N.detach(), n=5)
    print(f"loss {loss.item():.4f}; gradients differ by {(written.inputs - V.grad).abs().max():.1e}")
