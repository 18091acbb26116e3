"""Sampled output layers, checked as what each of them is in relation to the full softmax."""

from itertools import product

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import NCE, NegativeSampling, Proposal, SampledSoftmax
from cutaway.blocks.embeddings.sampled import nce_loss, negative_sampling_loss, sampled_softmax_loss

KINDS = [SampledSoftmax, NCE, NegativeSampling]


def expected_gradient(s: torch.Tensor, q: torch.Tensor, y: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean loss of sampled softmax and its mean gradient, over every draw of m of the other classes."""
    others = [c for c in range(len(q)) if c != y]
    s = s.clone().requires_grad_()
    loss = s.new_zeros(())
    for drawn in product(others, repeat=m):
        chance = (q[list(drawn)] / (1 - q[y])).prod()
        kept = torch.tensor(drawn)
        one = sampled_softmax_loss(
            s[y][None], s[kept][None], q[kept].log()[None], kept[None] == y, (1 - q[y]).log()[None]
        )
        loss = loss + chance * one[0]
    return loss.detach(), torch.autograd.grad(loss, s)[0]


def full_gradient(s: torch.Tensor, y: int) -> torch.Tensor:
    return s.softmax(0) - nn.functional.one_hot(torch.tensor(y), len(s))


def test_sampled_softmax_has_no_bias_where_q_is_p(float64):
    """Blanc and Rendle 2018, theorem 2.1, over every possible draw; even every single loss is the full one."""
    s, y = torch.randn(5), 2
    loss, gradient = expected_gradient(s, s.softmax(0), y, m=3)
    torch.testing.assert_close(gradient, full_gradient(s, y))
    torch.testing.assert_close(loss, -s.log_softmax(0)[y])
    layer = SampledSoftmax(1, 5, samples=4, proposal=s.softmax(0), bias=False)
    layer.weight.data = s[:, None]
    with torch.no_grad():
        drawn = [layer.loss(torch.ones(1, 1), torch.tensor([y])).item() for _ in range(20)]
    # a draw that hits y four times leaves nothing to compare with
    assert all(x == pytest.approx(-s.log_softmax(0)[y].item()) or x == 0 for x in drawn)
    assert sum(x != 0 for x in drawn) >= 18


def test_the_bias_of_sampled_softmax_falls_as_samples_grow(float64):
    s, y, q = 2 * torch.randn(5), 2, torch.full((5,), 0.2)
    bias = [(expected_gradient(s, q, y, m)[1] - full_gradient(s, y)).norm().item() for m in (1, 2, 3, 5)]
    assert bias == sorted(bias, reverse=True)
    assert bias[-1] < bias[0] / 2


def test_hits_are_left_out(float64):
    """With y among the samples, the loss is that of the other samples alone."""
    s, hits = torch.randn(1, 4), torch.tensor([[False, True, False, True]])
    log_q, log_rest = torch.tensor([[0.1, 0.3, 0.2, 0.3]]).log(), torch.tensor([0.7]).log()
    with_hits = sampled_softmax_loss(torch.ones(1), s, log_q, hits, log_rest)
    kept = ~hits
    without = sampled_softmax_loss(torch.ones(1), s[kept][None], log_q[kept][None], kept[kept][None] == False, log_rest)  # noqa: E712
    torch.testing.assert_close(with_hits, without)
    alone = sampled_softmax_loss(torch.ones(1), s, log_q, torch.ones_like(hits), log_rest)
    assert alone.item() == 0


def test_the_gradient_of_nce_tends_to_that_of_the_likelihood(float64):
    """For s = log p, the mean gradient is Σ_c kq_c/(p_c + kq_c) (data_c − p_c): that of the likelihood as k → ∞."""
    data, q = torch.tensor([0.4, 0.3, 0.2, 0.1]), torch.tensor([0.25, 0.25, 0.3, 0.2])
    free = torch.randn(4, requires_grad=True)

    def gradient(k: int) -> torch.Tensor:
        s = free.log_softmax(0)
        # each class as the target with its share of the data; as noise, k q_c times: through k copies of one class
        target = nce_loss(s, torch.full((4, k), -1e3), q.log(), torch.zeros(4, k))
        noise = nce_loss(torch.full((4,), 1e3), s[:, None].expand(4, k), torch.zeros(4), q.log()[:, None].expand(4, k))
        return torch.autograd.grad((data * target).sum() + (q * noise).sum(), free)[0]

    p = free.detach().softmax(0)
    for k in (1, 7):
        share = k * q / (p + k * q)
        at_s = -share * (data - p)  # then through the log-softmax
        torch.testing.assert_close(gradient(k), at_s - p * at_s.sum())
    gaps = [(gradient(k) - (p - data)).norm().item() for k in (1, 10, 100, 1000)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.01 * (p - data).norm()


def test_negative_sampling_learns_pmi_less_log_k(float64):
    """Fitted to a table of co-occurrences, the best scores are log p(c|z)/q(c) − log k (Levy and Goldberg 2014)."""
    together = torch.tensor([[8.0, 1.0, 3.0], [2.0, 6.0, 1.0], [1.0, 2.0, 9.0], [4.0, 4.0, 4.0]])
    k, joint = 5, together / together.sum()
    context, q = joint.sum(1), joint.sum(0)
    scores = torch.zeros(4, 3, requires_grad=True)
    optimizer = torch.optim.LBFGS([scores], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def again() -> torch.Tensor:
        optimizer.zero_grad()
        loss = scores.new_zeros(())
        none = torch.full((4, 1), -1e3)
        for c in range(3):
            yes = negative_sampling_loss(scores[:, c], none)
            no = negative_sampling_loss(torch.full((4,), 1e3), scores[:, c, None])
            loss = loss + (joint[:, c] * yes).sum() + k * (context * q[c] * no).sum()
        loss.backward()
        return loss

    optimizer.step(again)
    pmi = (joint / (context[:, None] * q)).log()
    torch.testing.assert_close(scores.detach(), pmi - torch.tensor(k).double().log(), atol=1e-4, rtol=0)
    # and the layer makes log p(c | z) of such scores
    layer = NegativeSampling(4, 3, samples=k, proposal=q)
    layer.weight.data = scores.detach().T
    torch.testing.assert_close(layer(torch.eye(4)).exp(), joint / context[:, None], atol=1e-4, rtol=0)


@pytest.mark.parametrize(("kind", "samples"), [(SampledSoftmax, 40), (NCE, 10), (NegativeSampling, 10)])
def test_training_finds_the_frequencies(kind, samples):
    """With z = 1 for all, each must learn the shares of the classes."""
    share = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05])
    layer = kind(1, 5, samples=samples, proposal=torch.tensor([0.1, 0.1, 0.2, 0.3, 0.3]), bias=False)
    nn.init.zeros_(layer.weight)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    rule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, 400)
    generator = torch.Generator().manual_seed(0)
    for _ in range(400):
        y = torch.multinomial(share, 200, replacement=True, generator=generator)
        optimizer.zero_grad()
        layer.loss(torch.ones(200, 1), y, generator).backward()
        optimizer.step()
        rule.step()
    assert (layer(torch.ones(1)).exp() - share).abs().max() < 0.03


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_layer_is_its_equation(kind, shared, float64):
    layer = kind(3, 11, samples=6, counts=range(1, 12), shared=shared, bias=True)
    nn.init.normal_(layer.bias)
    z, y = torch.randn(4, 3), torch.randint(11, (4,))
    losses = layer.losses(z, y, torch.Generator().manual_seed(5))
    drawn = layer.proposal.draw(*((6,) if shared else (4, 6)), generator=torch.Generator().manual_seed(5)).expand(4, 6)
    s, q = z @ layer.weight.T + layer.bias, layer.proposal.log_q.exp()
    for i in range(4):
        if kind is SampledSoftmax:
            others = [int(j) for j in drawn[i] if j != y[i]]
            weights = [(s[i, j].exp() / (len(others) * q[j] / (1 - q[y[i]]))) for j in others]
            expected = -(s[i, y[i]].exp() / (s[i, y[i]].exp() + sum(weights))).log()
        else:
            shift = (6 * q).log() + torch.tensor(11.0).log() if kind is NCE else 0 * q
            t = s[i] - shift
            expected = -t[y[i]].sigmoid().log() - sum((1 - t[j].sigmoid()).log() for j in drawn[i])
        torch.testing.assert_close(losses[i], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck_of_the_loss(kind, float64):
    layer = kind(3, 11, samples=6)
    z, y = torch.randn(4, 3, requires_grad=True), torch.randint(11, (4,))
    seeded = lambda z: layer.losses(z, y, torch.Generator().manual_seed(5))
    assert torch.autograd.gradcheck(seeded, (z,))


def test_the_tap_sees_the_target_and_the_samples():
    layer, z, y = NCE(3, 11, samples=6), torch.randn(4, 3), torch.randint(11, (4,))
    with cut.trace(layer, "scores") as seen:
        layer.loss(z, y)
    assert seen["scores"].shape == (4, 7)
    assert torch.allclose(seen["scores"][:, 0], layer.logits(z).gather(1, y[:, None])[:, 0])


def test_the_proposal_can_adapt_and_comes_with_the_state():
    layer = SampledSoftmax(3, 4, samples=50)
    layer.proposal.set_weights([1.0, 1.0, 1.0, 97.0])
    other = SampledSoftmax(3, 4, samples=50)
    other.load_state_dict(layer.state_dict())
    z, y = torch.randn(2, 3), torch.tensor([0, 1])
    assert torch.equal(*(x.loss(z, y, torch.Generator().manual_seed(1)) for x in (layer, other)))
    assert isinstance(SampledSoftmax(3, 4, proposal=Proposal(torch.ones(4))).proposal, Proposal)


def test_bad_options():
    with pytest.raises(ValueError, match="samples must be above 0, got 0"):
        NCE(3, 11, samples=0)
    with pytest.raises(ValueError, match="counts must be one for each of the 11 classes, got 2"):
        NegativeSampling(3, 11, counts=[1, 2])


@pytest.mark.untyped
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_compiles(kind):
    layer, z, y = kind(3, 11), torch.randn(4, 3), torch.randint(11, (4,))
    compiled = torch.compile(layer.loss, fullgraph=True, backend="aot_eager")
    torch.manual_seed(0)
    ours = layer.loss(z, y)
    torch.manual_seed(0)
    torch.testing.assert_close(compiled(z, y), ours)
