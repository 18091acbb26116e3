"""Activation patching: its laws, and each cell against a pass with the value put in by hand."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from look.languages import TOKENS, VOCABULARY, logits_of, ours, theirs
from torch import nn

import cutaway as cut
from cutaway.look import Layout, recovery_by_head, recovery_by_position

CLEAN = TOKENS
CORRUPTED = [3, 14, 22, 9, 2, 6, 5]  # another token at 2
ANSWER, WRONG = 7, 21


def difference(logits: torch.Tensor) -> float:
    return float(logits[-1, ANSWER] - logits[-1, WRONG])


def test_the_scores_of_both_texts():
    model = ours()
    found = recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, WRONG, decode=lambda ids: f"<{ids[0]}>")
    assert found.scores == pytest.approx(
        tuple(difference(logits_of(model, text)) for text in (CLEAN, CORRUPTED)), abs=1e-12
    )
    assert found.texts[1][2] == "<22>"
    assert found.sites == ["blocks.0.input", "blocks.0", "blocks.1", "blocks.2"]


@pytest.mark.parametrize(("make", "design"), [(ours, "gpt2"), (ours, "llama"), (theirs, "GPT2"), (theirs, "GPTNeoX")])
def test_laws(make: Callable[[str], nn.Module], design: str):
    model = make(design)
    r = recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, WRONG).recovered
    assert r.shape == (4, 7)
    np.testing.assert_allclose(r[:, :2], 0, atol=1e-12)  # before the texts part, clean and corrupted are the same
    assert r[0, 2] == pytest.approx(1, abs=1e-12)  # the embedding of the only other token is the clean text
    np.testing.assert_allclose(r[0, 3:], 0, atol=1e-12)
    assert r[-1, -1] == pytest.approx(1, abs=1e-12)  # the answer is read from the last layer at the last position …
    np.testing.assert_allclose(r[-1, :-1], 0, atol=1e-12)  # … and from nowhere else
    assert np.abs(r[1:-1, 2:]).max() > 0.01


def test_each_cell_against_a_value_put_in_by_hand():
    model = ours()
    found = recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, WRONG, sites="blocks.*.mlp")
    assert found.sites == [f"blocks.{i}.mlp" for i in range(3)]
    high, low = found.scores
    with cut.trace(model, "blocks.*.mlp", detach=True) as seen:
        logits_of(model, CLEAN)
    for i, address in enumerate(found.sites):
        for position in range(7):
            mask = torch.zeros(1, 7, 1, dtype=torch.float64)
            mask[0, position] = 1
            with cut.patch(model, {address: lambda y, a=address, m=mask: y + m * (seen[a] - y)}):
                want = (difference(logits_of(model, CORRUPTED)) - low) / (high - low)
            assert found.recovered[i, position] == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("make", [lambda: ours("gpt2"), lambda: ours("llama", attention__kv_heads=1)])
def test_heads_against_a_value_put_in_by_hand(make):
    model = make()
    found = recovery_by_head(model, CLEAN, CORRUPTED, ANSWER, WRONG)
    assert found.by == "head"
    assert found.recovered.shape == (3, 2)
    high, low = found.scores
    with cut.trace(model, "blocks.*.attention.head_outputs", detach=True) as seen:
        logits_of(model, CLEAN)
    for i in range(3):
        for head in range(2):

            def put(y: torch.Tensor, i: int = i, head: int = head) -> torch.Tensor:
                y = y.clone()
                y[:, head] = seen[f"blocks.{i}.attention.head_outputs"][:, head]
                return y

            with cut.patch(model, {f"blocks.{i}.attention.head_outputs": put}):
                want = (difference(logits_of(model, CORRUPTED)) - low) / (high - low)
            assert found.recovered[i, head] == pytest.approx(want, abs=1e-12)


def test_heads_of_somebody_elses_model():
    """The same weights in transformers' layout and in ours give the same map."""
    model = theirs("GPT2")
    found = recovery_by_head(model, CLEAN, CORRUPTED, ANSWER, WRONG)
    assert found.sites[0] == "transformer.h.0.attn.c_proj.input"
    assert np.abs(found.recovered).max() > 0.01
    high, low = found.scores
    with cut.trace(model, "transformer.h.1.attn.c_proj.input", detach=True) as seen:
        logits_of(model, CLEAN)
    clean = seen["transformer.h.1.attn.c_proj.input"]
    with cut.patch(model, {"transformer.h.1.attn.c_proj.input": lambda y: torch.cat([clean[..., :6], y[..., 6:]], -1)}):
        want = (difference(logits_of(model, CORRUPTED)) - low) / (high - low)
    assert found.recovered[1, 0] == pytest.approx(want, abs=1e-12)


def test_any_score_and_many_positions():
    """More positions than one pass takes; the score a function of the logits: a probability."""
    spec = cut.models.GPTSpec.gpt2(vocabulary=VOCABULARY, width=8, depth=1, heads=1, context=80)
    model = cut.models.GPT(spec).double()
    clean = [i % 5 for i in range(70)]
    corrupted = [*clean[:-1], 30]
    found = recovery_by_position(model, clean, corrupted, lambda y: y[:, -1].softmax(-1)[:, 3])
    assert found.recovered.shape == (2, 70)
    assert found.recovered[:, -1] == pytest.approx([1, 1], abs=1e-9)
    assert found.scores[0] == pytest.approx(logits_of(model, clean)[-1].softmax(-1)[3].item())


def test_messages():
    model = ours()
    with pytest.raises(ValueError, match=r"must have one length, .* got 7 and 2 tokens; reword one of them"):
        recovery_by_position(model, CLEAN, [1, 2], ANSWER)
    with pytest.raises(ValueError, match=r"must lead to different scores, got (-?[0-9.]+) and \1; choose texts"):
        recovery_by_position(model, CLEAN, CLEAN, ANSWER, WRONG)
    with pytest.raises(ValueError, match=r"got 'block\.\*'; the nearest known are: .*blocks\.0"):
        recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, sites="block.*")
    with pytest.raises(ValueError, match=r"must have the 7 positions .* got shape \(1, 2, 7, 6\); choose the output"):
        recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, sites="blocks.0.attention.head_outputs")
    with pytest.raises(ValueError, match=r"one tensor with a batch axis .* got shape \(7, 12\) at 'position\.rows'"):
        recovery_by_position(model, CLEAN, CORRUPTED, ANSWER, sites="position.rows")
    with pytest.raises(ValueError, match=r"tokens must lie from 0 to 30, got 99; encode the text"):
        recovery_by_position(model, CLEAN, [*CORRUPTED[:-1], 99], ANSWER)
    with pytest.raises(ValueError, match=r"one number of each of the 1 examples, got \(1, 7\) from an output of shape"):
        recovery_by_position(model, CLEAN, CORRUPTED, lambda y: y[..., 0])
    with pytest.raises(ValueError, match="a layout must say where attention is, got None"):
        recovery_by_head(model, CLEAN, CORRUPTED, ANSWER, layout=Layout("blocks.*", "norm", None))
