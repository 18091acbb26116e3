"""Sequences in the making: prompts side by side, contexts that fill up, models of one's own."""

import numpy as np
import pytest
import torch
from torch import nn

from cutaway.models import BERT, GPT, T5, GPTSpec, Transformer, generate
from cutaway.models.generation.next_token import as_prompt, begin, evaluating, left_mask

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3, context=8)
CPU = torch.device("cpu")


def gpt(context: int = 8, **more) -> GPT:
    torch.manual_seed(0)
    model = GPT(GPTSpec.llama(**SIZES | dict(context=context)).but(**more)).double().eval()
    for p in model.parameters():
        nn.init.normal_(p, std=0.5)
    return model


@pytest.mark.parametrize(
    "prompt",
    [
        [1, 2, 3],
        [[1, 2, 3]],
        torch.tensor([1, 2, 3]),
        torch.tensor([[1, 2, 3]], dtype=torch.int32),
        np.array([1, 2, 3]),
        (1, 2, 3),
        [np.int64(1), np.int64(2), np.int64(3)],
        [np.array([1, 2, 3])],
    ],
)
def test_one_prompt_in_many_forms(prompt):
    found = as_prompt(prompt, CPU)
    assert found.tokens.tolist() == [[1, 2, 3]]
    assert found.tokens.dtype == torch.long
    assert found.mask is None


def test_prompts_of_different_lengths():
    found = as_prompt([[5, 6], [7], [1, 2, 3]], CPU)
    assert found.tokens.tolist() == [[5, 5, 6], [7, 7, 7], [1, 2, 3]]
    assert found.mask.tolist() == [[False, True, True], [False, False, True], [True, True, True]]
    assert [row.tolist() for row in found.rows] == [[5, 6], [7], [1, 2, 3]]


def test_masks_of_rows_that_end_together():
    assert left_mask([2, 2], CPU) is None
    assert left_mask([1, 2], CPU).tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "a prompt must hold at least one token, got an empty one; begin with"),
        ([[1], []], "at least one token"),
        (torch.zeros(2, 0, dtype=torch.long), "at least one token"),
        ([1.5, 2.5], r"a list or tensor of tokens, or several, got torch.float32 of shape \(\)"),
        (torch.ones(2, 3), r"got torch.float32 of shape \(3,\); convert"),
        (torch.ones(2, 3, 4).long(), r"got torch.int64 of shape \(2, 3, 4\)"),
        ([1, 13], r"tokens must lie from 0 to 12, got 13; encode the text with the model's own tokenizer"),
        ([-1, 2], "got -1"),
        ("hello", "a prompt is made of tokens here, got the text 'hello'; for text use generate_text"),
    ],
)
def test_messages_for_prompts(prompt, message: str):
    with pytest.raises(ValueError, match=message):
        as_prompt(prompt, CPU, 13)


def test_models_that_do_not_generate():
    model = BERT(**SIZES)
    with pytest.raises(ValueError, match="generating needs a language model, got BERT; it has no next token"):
        begin(model, [1], 3)
    with pytest.raises(ValueError, match="a model needs a language head to go on with a text, got one without; see"):
        begin(gpt(head=None), [1], 3)
    with pytest.raises(ValueError, match="a language head to answer a text"):
        begin(
            T5(vocabulary=13, width=12, depth=1, heads=3).from_spec(
                T5(vocabulary=13, width=12, depth=1, heads=3).spec.but(head=None)
            ),
            [1],
            3,
        )


def naive(model: GPT, prompt: list[int], tokens: int) -> list[int]:
    """No cache and no batch: the whole visible text anew for each token."""
    text, kept = list(prompt), min(len(prompt), model.spec.context)
    for _ in range(tokens):
        if kept > model.spec.context:
            kept = max(1, model.spec.context // 2)
        with torch.no_grad():
            text.append(int(model(torch.tensor([text[-kept:]]))[0, -1].argmax()))
        kept += 1
    return text


@pytest.mark.parametrize("context", [1, 2, 7, 8])
@pytest.mark.parametrize("more", [{}, {"attention__window": 3}], ids=["full", "window"])
def test_a_full_context_goes_on_from_its_last_half(context: int, more: dict):
    model = gpt(context, **more)
    for prompt in ([1], [3, 1, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]):
        assert generate(model, prompt, 20, temperature=0) == [naive(model, prompt, 20)]


def test_rows_of_a_batch_fill_up_each_in_its_own_time():
    """Greedy, and with a penalty that looks at all tokens so far: padding must count for nothing."""
    model = gpt()
    prompts = [[1], [3, 1, 4, 1, 5, 9], [2, 7], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]
    for how in (dict(temperature=0), dict(temperature=0, repetition_penalty=1.3)):
        together = generate(model, prompts, 25, **how)
        assert together == [generate(model, prompt, 25, **how)[0] for prompt in prompts]


def test_an_encoder_decoder_answers_within_its_context():
    model = Transformer(vocabulary=13, width=12, depth=1, heads=3, context=5, dropout=0.0)
    assert len(generate(model, [1, 2], 5, temperature=0)[0]) == 5
    with pytest.raises(ValueError, match="the model's context is 5 tokens, got tokens=6; ask for at most 5"):
        generate(model, [1, 2], 6)


@pytest.mark.parametrize("kind", [T5, Transformer])
def test_sources_of_different_lengths_share_a_batch(kind):
    torch.manual_seed(0)
    model = kind(vocabulary=13, width=12, depth=2, heads=3, dropout=0.0).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.5)
    sources = [[1], [3, 1, 4, 1, 5, 9], [2, 7]]
    together = generate(model, sources, 6, temperature=0)
    assert together == [generate(model, source, 6, temperature=0)[0] for source in sources]


def test_a_model_of_ones_own_generates():
    """Any module with ``begin`` does: here one that counts."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = nn.Parameter(torch.ones(()))

        def begin(self, prompt, tokens):
            return Count(prompt.tokens)

    class Count:
        def __init__(self, text):
            self.text = text

        def logits(self):
            return nn.functional.one_hot((self.text[:, -1] + 1) % 7, 7).double()

        def append(self, tokens):
            self.text = torch.cat([self.text, tokens[:, None]], 1)

        def pick(self, rows):
            self.text = self.text[rows]

    assert generate(Counting(), [[1], [4]], 4, temperature=0) == [[1, 2, 3, 4, 5], [4, 5, 6, 0, 1]]


def test_evaluating_leaves_everything_as_it_was():
    model = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5)).train()
    model[1].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not torch.is_grad_enabled()
    assert [module.training for module in model.modules()] == [True, True, False]
    assert torch.is_grad_enabled()
