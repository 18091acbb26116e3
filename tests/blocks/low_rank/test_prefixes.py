"""Prefixes and prompts: the equation by hand, causal masks, and a prefix that nobody looks at."""

import pytest
import torch

from cutaway.blocks import Prefix, Prompt, attend, attend_with_prefix


def some(seed=0):
    torch.manual_seed(seed)
    return (torch.randn(2, 3, n, 4, dtype=torch.float64) for n in (5, 5, 5))


@pytest.mark.parametrize("causal", [False, True])
def test_the_equation(causal):
    q, k, v = some()
    P, R = torch.randn(3, 2, 4, dtype=torch.float64), torch.randn(3, 2, 4, dtype=torch.float64)
    scores = torch.cat([q @ P.mT, q @ k.mT], -1) / 2
    if causal:
        hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
        scores[..., 2:] = scores[..., 2:].masked_fill(hidden, -torch.inf)
    expected = scores.softmax(-1) @ torch.cat([R.expand(2, 3, 2, 4), v], -2)
    torch.testing.assert_close(attend_with_prefix(q, k, v, P, R, causal=causal), expected)


def test_a_mask_is_for_the_keys_behind_the_prefix():
    q, k, v = some()
    P, R = torch.randn(3, 2, 4, dtype=torch.float64), torch.randn(3, 2, 4, dtype=torch.float64)
    mask = torch.rand(2, 1, 5, 5) < 0.5
    scores = torch.cat([q @ P.mT, (q @ k.mT).masked_fill(~mask, -torch.inf)], -1) / 2
    expected = scores.softmax(-1) @ torch.cat([R.expand(2, 3, 2, 4), v], -2)
    torch.testing.assert_close(attend_with_prefix(q, k, v, P, R, mask), expected)


def test_a_prefix_that_no_query_looks_at_changes_nothing():
    q, k, v = some()
    far = -1e6 * q.sum(2).mean(0)[:, None]  # far against all queries' mean: still tell by their own scores
    prefix = Prefix(3, 4, length=1).double()
    with torch.no_grad():
        prefix.keys.copy_(far)
    away = (q @ far.mT < -100).squeeze(-1)
    assert away.any()
    torch.testing.assert_close(prefix(q, k, v)[away], attend(q, k, v)[away])


def test_a_prompt_stands_before_the_tokens():
    prompt = Prompt(4, length=2)
    x = torch.randn(3, 5, 4)
    y = prompt(x)
    assert torch.equal(y[:, 2:], x)
    assert torch.equal(y[1, :2], prompt.vectors)
    with pytest.raises(ValueError, match="x must have width 4"):
        prompt(torch.randn(3, 5, 3))
