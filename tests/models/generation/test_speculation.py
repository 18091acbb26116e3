"""Speculation: the text without guesses, in float64 to the token; guesses where they pay, on real weights."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import GPT, T5, Transformer, generate, generate_text, stream
from cutaway.models.generation.speculation import PromptLookup, pass_cost

SIZES = dict(vocabulary=7, width=12, depth=2, heads=3)


def build(kind: str) -> nn.Module:
    torch.manual_seed(1)
    model: nn.Module = {
        "gpt": lambda: GPT(**SIZES, context=24),
        "llama": lambda: GPT.llama(**SIZES, context=24),
        "t5": lambda: T5(**SIZES),
        "transformer": lambda: Transformer(**SIZES, context=64),
    }[kind]()
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model.double()


class Counted:
    """Counts the passes of a model, and the tokens that it was shown."""

    def __init__(self, model: nn.Module) -> None:
        self.passes: list[int] = []
        name = "decode" if hasattr(model, "decode") else "hidden"
        run = getattr(model, name)
        setattr(
            model,
            name,
            lambda tokens, *rest, **more: (self.passes.append(tokens.shape[1]), run(tokens, *rest, **more))[1],
        )


@pytest.mark.parametrize("kind", ["gpt", "llama", "t5", "transformer"])
@pytest.mark.parametrize(
    "how",
    [
        dict(temperature=0),
        dict(temperature=0, end=3),
        dict(temperature=0.3, seed=5),
        dict(temperature=0.5, repetition_penalty=1.1, top_p=0.9, seed=2),
    ],
    ids=["greedy", "with an end", "sampled", "penalised"],
)
def test_the_text_is_the_one_without_guesses(kind: str, how: dict):
    """Past the context too, which fills at 24 tokens."""
    model = build(kind)
    for prompt in ([1, 2, 3, 1, 2, 3, 1, 2], [5], list(range(7)) * 3):
        plain = generate(model, prompt, 50, **how)
        assert generate(model, prompt, 50, speculate=8, **how) == plain
        assert generate(model, prompt, 50, speculate=1, **how) == plain


@pytest.mark.parametrize("kind", ["gpt", "t5"])
def test_a_text_that_repeats_takes_fewer_passes(kind: str):
    model = build(kind)
    tokens = 60 if kind == "t5" else 20
    plain = generate(model, [1, 2], tokens, temperature=0)
    counted = Counted(model)
    assert generate(model, [1, 2], tokens, temperature=0, speculate=8) == plain
    assert len(counted.passes) < tokens
    assert max(counted.passes) > 2


def test_streaming_yields_one_token_at_a_time():
    model = build("gpt")
    steps = list(stream(model, [1, 2, 1, 2], 15, temperature=0, speculate=4))
    assert all(step.shape == (1,) for step in steps)
    assert [1, 2, 1, 2, *(int(step) for step in steps)] == generate(model, [1, 2, 1, 2], 15, temperature=0)[0]


def test_a_batch_makes_no_guesses():
    model, prompts = build("gpt"), [[1, 2, 1, 2], [3, 3, 3]]
    counted = Counted(model)
    assert generate(model, prompts, 12, temperature=0, speculate=8) == generate(model, prompts, 12, temperature=0)
    assert set(counted.passes[1:12]) == {1}


def test_traces_see_every_pass():
    model = build("gpt")
    with cut.trace(model, "blocks.0.attention.weights") as seen:
        generate(model, [1, 2, 3, 1, 2, 3, 1, 2], 12, temperature=0, speculate=8)
    queries = [weights.shape[-2] for weights in seen.calls["blocks.0.attention.weights"]]
    assert queries[0] >= 8
    assert sum(queries[1:]) >= 11


def test_a_lookup_expects_what_followed_the_longest_agreement():
    lookup = PromptLookup([1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3])
    assert (lookup.place, lookup.agreed) == (3, 3)  # 1 2 3 was followed by 4; 2 3 alone, later, by 5
    lookup.add(4)
    assert (lookup.place, lookup.agreed) == (4, 4)
    lookup.add(7)
    assert lookup.place is None
    assert lookup.guess(8) == []


def test_a_repetition_shorter_than_the_guess_goes_on():
    lookup = PromptLookup([1, 2] * 12)
    assert lookup.guess(5) == [1, 2, 1, 2, 1]
    assert lookup.guess(0) == []


def test_guesses_end_when_they_are_wrong_and_return_when_they_are_right():
    """The right count is kept at every token, whether or not it was guessed."""
    lookup = PromptLookup([])
    for i in range(40):  # 1 2 is followed by something else each time
        for token in (1, 2):
            lookup.add(token)
        assert i < 8 or lookup.guess(8) == []
        lookup.add(10 + i)
    for _ in range(4):
        for token in (1, 2, 3, 4, 5, 6, 7, 8):
            lookup.add(token)
    assert lookup.guess(8) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_guess_is_as_long_as_it_promises():
    assert pass_cost(8) == pytest.approx(2.3)
    lookup = PromptLookup([1, 2, 3, 1, 2])  # two tokens agree: right one time in four, by the prior
    assert lookup.guess(8) == []


@pytest.mark.untyped
@pytest.mark.parametrize("speculate", [-1, 2.5, True, "8"])
def test_speculate_is_a_number_of_tokens(speculate: object):
    with pytest.raises(ValueError, match=f"speculate must be a whole number of tokens, 0 or above, got {speculate!r}"):
        generate(build("gpt"), [1], 3, speculate=speculate)


def test_beams_do_not_guess():
    with pytest.raises(ValueError, match="got beams=3 and speculate=8; pass beams=1"):
        generate(build("gpt"), [1], 3, beams=3, speculate=8)


class Letters:
    vocabulary = 7

    def encode(self, text: str) -> list[int]:
        return ["abcdefg".index(c) for c in text]

    def decode(self, ids: list[int]) -> str:
        return "".join("abcdefg"[i] for i in ids)


def test_texts_take_it():
    model = build("llama")
    say = lambda **how: generate_text(model, "abcabcab", 15, tokenizer=Letters(), temperature=0, **how)
    assert say(speculate=8) == say()


def test_real_weights_write_the_same_story_in_fewer_passes(data_folder):
    model = cut.from_pretrained(data_folder / "weights/stories260K").eval()
    story = generate(model, [1], 120, temperature=0)[0]
    prompt = story + story[:12]  # begins the story again
    plain = generate(model, prompt, 100, temperature=0)
    counted = Counted(model)
    assert generate(model, prompt, 100, temperature=0, speculate=8) == plain
    cost = sum(pass_cost(n - 1) for n in counted.passes[1:])
    assert cost < 99
