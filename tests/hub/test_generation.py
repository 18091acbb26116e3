"""Generation with real architectures: token for token what transformers generates, where it is sure."""

import pytest
import torch

from cutaway.hub import from_pretrained
from cutaway.models import beam_search, generate, log_probabilities

LANGUAGE = ["gpt2", "gpt2_untied", "llama", "llama_llama3", "qwen2", "qwen3"]


def sure(logits: torch.Tensor) -> torch.Tensor:
    """Where the best token is clearly ahead of the second: elsewhere rounding may decide."""
    best = logits.topk(2, -1).values
    return best[..., 0] - best[..., 1] > 1e-4


@pytest.mark.parametrize("name", LANGUAGE)
def test_greedy_equals_transformers(name: str, checkpoint):
    made = checkpoint(name)
    model = from_pretrained(made.folder)
    tokens = torch.randint(3, 61, (4, 5))
    theirs = made.peer.generate(
        tokens,
        max_new_tokens=14,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
        attention_mask=torch.ones_like(tokens),
    )
    ours = torch.tensor(generate(model, tokens, 14, temperature=0))
    with torch.no_grad():
        clear = sure(model(theirs)[:, 4:-1]).cumprod(1).bool()  # up to the first place of doubt
    assert clear.sum() > 40
    assert torch.equal(ours[:, 5:][clear], theirs[:, 5:][clear])
    assert torch.equal(ours[:, :5], tokens)


@pytest.mark.parametrize("name", ["t5", "t5_gated"])
def test_greedy_answers_equal_transformers(name: str, checkpoint):
    made = checkpoint(name)
    tokens = torch.randint(3, 61, (4, 7))
    mask = torch.ones_like(tokens)
    mask[1, 4:] = 0  # padding on the right, as T5 has it
    theirs = made.peer.generate(
        tokens, attention_mask=mask, max_new_tokens=9, min_new_tokens=9, do_sample=False, use_cache=False
    )
    rows = [row[keep.bool()] for row, keep in zip(tokens, mask)]
    ours = generate(from_pretrained(made.folder), rows, 9, temperature=0)
    assert ours == theirs[:, 1:].tolist()


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3"])
def test_sampling_penalty_equals_transformers_greedily(name: str, checkpoint):
    made = checkpoint(name)
    tokens = torch.randint(3, 61, (3, 5))
    theirs = made.peer.generate(
        tokens,
        max_new_tokens=12,
        do_sample=False,
        repetition_penalty=1.7,
        eos_token_id=None,
        pad_token_id=0,
        attention_mask=torch.ones_like(tokens),
    )
    assert generate(from_pretrained(made.folder), tokens, 12, temperature=0, repetition_penalty=1.7) == theirs.tolist()


@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize(
    ("name", "end"), [("gpt2", None), ("llama", 40), ("qwen2", 17), ("gpt2_seven", 3), ("gpt2_seven", 5)]
)
def test_beams_equal_transformers(name: str, end: int | None, alpha: float, checkpoint):
    """``early_stopping="never"``: as here, the search goes on while something could still be better.

    Seven tokens only, so that some beams do end.
    """
    made = checkpoint(name)
    model = from_pretrained(made.folder)
    for tokens in torch.randint(0, model.spec.vocabulary, (6, 1, 2)):
        theirs = made.peer.generate(
            tokens,
            max_new_tokens=8,
            num_beams=3,
            do_sample=False,
            early_stopping="never",
            length_penalty=alpha,
            eos_token_id=end,
            pad_token_id=0,
            attention_mask=torch.ones_like(tokens),
            return_dict_in_generate=True,
            output_scores=True,
        )
        (found,) = beam_search(model, tokens, 8, beams=3, end=end, alpha=alpha)
        best, length = theirs.sequences[0].tolist(), len(found[0].tokens)
        assert found[0].tokens == best[:length]
        assert set(best[length:]) <= {0}
        score = found[0].log_probability / (length - 2) ** alpha
        assert score == pytest.approx(theirs.sequences_scores.item(), abs=1e-5)
        if alpha == 1:
            assert generate(model, tokens, 8, beams=3, end=end) == [found[0].tokens]


def test_beams_of_an_encoder_decoder_equal_transformers(checkpoint):
    made = checkpoint("t5")
    tokens = torch.randint(3, 61, (2, 6))
    theirs = made.peer.generate(tokens, max_new_tokens=7, num_beams=3, do_sample=False, early_stopping="never")
    found = beam_search(from_pretrained(made.folder), tokens, 7, beams=3, end=1)
    for mine, other in zip(found, theirs[:, 1:].tolist()):
        assert mine[0].tokens == other[: len(mine[0].tokens)]


def test_density_equals_transformers(checkpoint):
    made = checkpoint("llama")
    tokens = torch.randint(3, 61, (2, 9))
    with torch.no_grad():
        logs = made.peer(tokens).logits.log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]
        torch.testing.assert_close(log_probabilities(from_pretrained(made.folder), tokens), logs, rtol=0, atol=1e-5)
