r"""CBOW and skip-gram with negative sampling over stretches of text: loss and gradient, as products of small matrices.

A stretch has k words in its middle. V (m, d) are the input vectors of these and of the w words on either side,
U (k, d) the output vectors of the k, and N (q, d) those of q negatives that the stretch shares. The band A (k, m) has
A_ij = 1 where word j stands in the window of word i; the windows are of random width, as in word2vec.

    CBOW        H = c ∘ (A V)                      c: 1 for the sum of a context, 1/size for its mean, 0 if it is empty
                L = − Σ_i log σ(h_i·u_i) − (n/q) Σ_i Σ_l log σ(−h_i·n_l)
    skip-gram   L = − Σ_ij A_ij [log σ(v_j·u_i) + (n/q) Σ_l log σ(−v_j·n_l)]

(n/q) Σ over q shared negatives has the expectation of a sum over n of one's own, at a third of the cost. The gradients
follow from (−log σ(s))′ = σ(s) − 1 and (−log σ(−s))′ = σ(s):

    CBOW        p = σ(h·u) − 1,  P = (n/q) σ(H Nᵀ):    ∂U = p H,  ∂N = Pᵀ H,  ∂H = p U + P N,  ∂V = Aᵀ (c ∘ ∂H)
    skip-gram   D = A ∘ (σ(U Vᵀ) − 1),  P = (n/q) a ∘ σ(V Nᵀ),  a_j = Σ_i A_ij:
                                                       ∂U = D V,  ∂N = Pᵀ V,  ∂V = Dᵀ U + P N

Mikolov et al. 2013, both papers; sharing negatives in a batch: Ji et al. 2016. Notes: N3 §4.2–4.4 (CBOW *sums*).
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import softplus


class WindowGradients(NamedTuple):
    """The loss summed over all words (CBOW) or pairs (skip-gram), and its gradients."""

    loss: Float[Tensor, ""]
    inputs: Float[Tensor, "b m d"]
    targets: Float[Tensor, "b k d"]
    negatives: Float[Tensor, "b q d"]


def cbow_loss(
    A: Float[Tensor, "b k m"],
    c: Float[Tensor, "b k"],
    V: Float[Tensor, "b m d"],
    U: Float[Tensor, "b k d"],
    N: Float[Tensor, "b q d"],
    n: float,
) -> Float[Tensor, ""]:
    """L = − Σ_i log σ(h_i·u_i) − (n/q) Σ_i Σ_l log σ(−h_i·n_l), over the words with c_i above 0.

    >>> A, V, U = torch.tensor([[[1.0, 0.0, 1.0]]]), torch.ones(1, 3, 2), torch.zeros(1, 1, 2)
    >>> cbow_loss(A, torch.ones(1, 1), V, U, torch.zeros(1, 4, 2), n=5)  # all scores are 0: 6 log 2
    tensor(4.1589)
    """
    return scores_loss(guess_scores(c[..., None] * (A @ V), U, N), c, n)


def cbow_gradients(
    A: Float[Tensor, "b k m"],
    c: Float[Tensor, "b k"],
    V: Float[Tensor, "b m d"],
    U: Float[Tensor, "b k d"],
    N: Float[Tensor, "b q d"],
    n: float,
    back: Float[Tensor, "b k"] | None = None,
) -> WindowGradients:
    """`cbow_loss` with its gradients written out.

    ``back`` takes the place of c in ∂V: word2vec's program and gensim leave 1/size out there, so that the vectors of a
    context move as far for the mean as for the sum.
    """
    H = torch.bmm(A, V).mul_(c[..., None])
    scores = guess_scores(H, U, N)
    loss, errors = scores_loss(scores, c, n), guess_errors(scores, n)
    dH = hidden_gradient(errors, U, N).mul_((c if back is None else back)[..., None])
    return WindowGradients(loss, torch.bmm(A.mT, dH), *output_gradients(errors, H))


class Guesses(NamedTuple):
    """A number for each word and for each of its negatives: scores s and S, or errors p and P."""

    words: Float[Tensor, "b k"]
    negatives: Float[Tensor, "b k q"]


def guess_scores(H: Float[Tensor, "b k d"], U: Float[Tensor, "b k d"], N: Float[Tensor, "b q d"]) -> Guesses:
    """s = h·u and S = H Nᵀ."""
    return Guesses(torch.linalg.vecdot(H, U), H @ N.mT)


def scores_loss(scores: Guesses, c: Float[Tensor, "b k"], n: float) -> Float[Tensor, ""]:
    """− Σ log σ(s) − (n/q) Σ log σ(−S); a word without a context (c = 0) has scores of 0, which are taken out."""
    s, S = scores
    empty = (c == 0).sum().to(S.dtype) * ((1 + n) * math.log(2))
    return softplus(-s).sum() + n / S.shape[-1] * softplus(S).sum() - empty


def guess_errors(scores: Guesses, n: float, scale: float = 1.0) -> Guesses:
    """p = σ(s) − 1 and P = (n/q) σ(S) in place of the scores, times ``scale``: by −rate, gradients become steps."""
    s, S = scores
    return Guesses(s.sigmoid_().sub_(1).mul_(scale), S.sigmoid_().mul_(scale * n / S.shape[-1]))


def hidden_gradient(errors: Guesses, U: Float[Tensor, "b k d"], N: Float[Tensor, "b q d"]) -> Float[Tensor, "b k d"]:
    """∂H = p U + P N."""
    return torch.baddbmm(errors.words[..., None] * U, errors.negatives, N)


def output_gradients(
    errors: Guesses, H: Float[Tensor, "b k d"], out: tuple[Tensor | None, Tensor | None] = (None, None)
) -> tuple[Float[Tensor, "b k d"], Float[Tensor, "b q d"]]:
    """∂U = p H and ∂N = Pᵀ H, written to ``out`` where it is given."""
    return torch.mul(errors.words[..., None], H, out=out[0]), torch.bmm(errors.negatives.mT, H, out=out[1])


class WindowLists(NamedTuple):
    """The band A of a whole text by rows and by columns: as matrices that are nearly empty are multiplied fastest.

    ``places`` are those in the window of word 0, of word 1, …, and ``starts`` says where each list begins; ``words``
    are those whose windows hold place 0, place 1, …
    """

    places: Int[Tensor, "e"]
    starts: Int[Tensor, "k"]
    words: Int[Tensor, "e"]
    word_starts: Int[Tensor, "m"]


def window_sums(A: WindowLists, V: Float[Tensor, "m d"]) -> Float[Tensor, "k d"]:
    """A V: the sum of the vectors in each word's window.

    >>> lists = WindowLists(*map(torch.tensor, ([1, 0, 2, 1], [0, 1, 3], [1, 0, 2, 1], [0, 1, 3])))
    >>> window_sums(lists, torch.tensor([[1.0], [10.0], [100.0]])).flatten()
    tensor([ 10., 101.,  10.])
    """
    return torch.embedding_bag(V, A.places, A.starts)[0]


def spread_back(A: WindowLists, G: Float[Tensor, "k d"]) -> Float[Tensor, "m d"]:
    """Aᵀ G: what each place gets from the words whose windows hold it."""
    return torch.embedding_bag(G, A.words, A.word_starts)[0]


def skip_gram_loss(
    A: Float[Tensor, "b k m"],
    V: Float[Tensor, "b m d"],
    U: Float[Tensor, "b k d"],
    N: Float[Tensor, "b q d"],
    n: float,
) -> Float[Tensor, ""]:
    """L = − Σ_ij A_ij [log σ(v_j·u_i) + (n/q) Σ_l log σ(−v_j·n_l)]."""
    yes = (A * softplus(-U @ V.mT)).sum()
    return yes + n / N.shape[1] * (A.sum(1)[..., None] * softplus(V @ N.mT)).sum()


def skip_gram_gradients(
    A: Float[Tensor, "b k m"],
    V: Float[Tensor, "b m d"],
    U: Float[Tensor, "b k d"],
    N: Float[Tensor, "b q d"],
    n: float,
) -> WindowGradients:
    """`skip_gram_loss` with its gradients written out."""
    S, T, a = torch.bmm(U, V.mT), torch.bmm(V, N.mT), A.sum(1)[..., None]
    weight = n / N.shape[1]
    loss = (A * softplus(-S)).sum() + weight * (a * softplus(T)).sum()
    D, P = S.sigmoid_().sub_(1).mul_(A), T.sigmoid_().mul_(weight * a)
    return WindowGradients(loss, torch.baddbmm(torch.bmm(D.mT, U), P, N), torch.bmm(D, V), torch.bmm(P.mT, V))


def window_rows(window: int, words: int) -> Float[Tensor, "n m"]:
    """All rows that a band can have: row r·k + i marks the r + 1 words on either side of word i of k.

    >>> window_rows(2, 1)
    tensor([[0., 1., 0., 1., 0.],
            [1., 1., 0., 1., 1.]])
    """
    i, j = torch.arange(words)[:, None] + window, torch.arange(words + 2 * window)
    apart = (i - j).abs()
    reach = torch.arange(1, window + 1)[:, None, None]
    return ((apart > 0) & (apart <= reach)).float().flatten(0, 1)


__all__ = [
    "Guesses",
    "WindowGradients",
    "WindowLists",
    "cbow_gradients",
    "cbow_loss",
    "guess_errors",
    "guess_scores",
    "hidden_gradient",
    "output_gradients",
    "scores_loss",
    "skip_gram_gradients",
    "skip_gram_loss",
    "spread_back",
    "window_rows",
    "window_sums",
]
