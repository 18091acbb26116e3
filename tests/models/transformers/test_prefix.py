"""A prefix language model: GPT whose first tokens see each other in both directions."""

import pytest
import torch
from torch import nn

from cutaway.blocks.attention_masks.patterns import prefix as prefix_pattern
from cutaway.models import GPT, GPTSpec, beam_search, exact_top, generate, log_probabilities
from cutaway.models.generation.next_token import begin, evaluating
from cutaway.models.transformers.token_inputs import prefix_mask

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3, context=16)


def build(name: str = "gpt2", **more) -> GPT:
    torch.manual_seed(0)
    model = GPT(getattr(GPTSpec, name)(**SIZES).but(prefix=True, **more)).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model


def test_written_out_with_a_mask_by_hand():
    """Two layers of GPT-2 in plain operations; of six tokens the first three see each other."""
    model, tokens = build(), torch.randint(13, (1, 6))
    seen = torch.tensor([
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
    ]).bool()  # fmt: skip
    assert torch.equal(prefix_mask(tokens, 3)[0, 0], seen)
    assert torch.equal(prefix_pattern(3).dense(6, 6), seen)
    x = model.embed.weight[tokens] + model.position.weight[:6]
    norm = lambda z, m: nn.functional.layer_norm(z, (12,), m.weight, m.bias, 1e-5)
    for block in model.blocks:
        h = norm(x, block.norm_attention) @ block.attention.qkv.weight + block.attention.qkv.bias
        q, k, v = (part.view(6, 3, 4).transpose(0, 1) for part in h[0].split(12, -1))
        scores = (q @ k.mT / 2).masked_fill(~seen, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(0, 1).reshape(1, 6, 12)
        x = x + y @ block.attention.out.weight + block.attention.out.bias
        x = x + block.mlp(norm(x, block.norm_mlp))
    logits = norm(x, model.norm) @ model.embed.weight.T
    torch.testing.assert_close(model(tokens, prefix=3), logits)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_what_sees_what(name: str):
    model, tokens = build(name), torch.randint(13, (2, 7))
    torch.testing.assert_close(model(tokens, prefix=0), model(tokens))
    torch.testing.assert_close(model(tokens, prefix=1), model(tokens))
    changed = tokens.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 13
    inside = (model(changed, prefix=4) - model(tokens, prefix=4)).abs().amax((0, 2))
    assert (inside > 1e-9).all(), "a token of the prefix is seen from everywhere"
    after = (model(changed, prefix=3) - model(tokens, prefix=3)).abs().amax((0, 2))
    assert (after[:3] == 0).all(), "one behind it only from behind"
    each = model(tokens, prefix=torch.tensor([2, 5]))
    torch.testing.assert_close(each[:1], model(tokens[:1], prefix=2))
    torch.testing.assert_close(each[1:], model(tokens[1:], prefix=5))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("speculate", [0, 4])
def test_generation_reads_its_prompt_in_both_directions(name: str, speculate: int):
    model, prompt = build(name), [3, 1, 4, 1]
    text = list(prompt)
    for _ in range(8):
        text.append(int(model(torch.tensor([text]), prefix=4)[0, -1].argmax()))
    assert generate(model, prompt, 8, temperature=0, speculate=speculate) == [text]
    causal = GPT(model.spec.but(prefix=False)).double()
    causal.load_state_dict(model.state_dict())
    with evaluating(model):
        first, other = begin(model, prompt, 1).logits(), begin(causal, prompt, 1).logits()
    torch.testing.assert_close(first, model(torch.tensor([prompt]), prefix=4)[:, -1])
    assert not torch.allclose(first, other)


def test_prompts_of_different_lengths_and_a_full_context():
    model, prompts = build("llama"), [[1, 2], [3], [4, 5, 6, 7, 8]]
    together = generate(model, prompts, 25, temperature=0)
    assert together == [generate(model, prompt, 25, temperature=0)[0] for prompt in prompts]


def test_searches_and_densities_agree():
    model, prompt = build(), [5, 2, 9]
    (best,) = exact_top(model, prompt, 2)
    assert beam_search(model, prompt, 2, beams=13, alpha=0)[0][0].tokens == best.tokens
    answer = torch.tensor([best.tokens[3:]])
    logs = log_probabilities(model, answer, source=torch.tensor([prompt]))
    assert logs.sum().item() == pytest.approx(best.log_probability)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(prefix=-1), "prefix must be a whole number of tokens, 0 or above, got -1"),
        (dict(prefix=1, segments=torch.zeros(2, 4).long()), "a prefix is for one document a row, got segments too"),
    ],
)
def test_messages(options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        build()(torch.zeros(2, 4).long(), **options)


def test_no_window_and_no_cache():
    with pytest.raises(ValueError, match="got prefix=True with window=3; leave one of them out"):
        build(attention__window=3)
    model = build()
    cache = model.new_cache(1)
    model(torch.tensor([[1, 2]]), cache=cache)
    with pytest.raises(ValueError, match="a prefix stands at the beginning, got one after 2 tokens in the cache"):
        model(torch.tensor([[1]]), cache=cache, prefix=1)
