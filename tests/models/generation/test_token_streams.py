"""Generation: greedy by hand, a batch equal to its rows, ends, seeds, densities."""

import math

import pytest
import torch
from torch import nn

from cutaway.models import BERT, GPT, T5, GPTSpec, MarkovChain, RecurrentLM, generate, log_probabilities, stream

SIZES = dict(vocabulary=13, width=12, depth=2, heads=3, context=16)


def build(kind: str = "gpt", dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module
    if kind == "gpt":
        model = GPT(GPTSpec.gpt2(**SIZES, dropout=dropout))
    elif kind == "llama":
        model = GPT.llama(**SIZES)
    else:
        model = T5(vocabulary=13, width=12, depth=2, heads=3, dropout=dropout)
    for p in model.parameters():
        nn.init.normal_(p, std=0.4)
    return model.double()


every_kind = pytest.mark.parametrize("kind", ["gpt", "llama", "t5"])


@every_kind
def test_greedy_takes_the_best_token_each_time(kind: str):
    model, prompt = build(kind), [3, 1, 4]
    text = list(prompt)
    answer = [0]
    for _ in range(6):
        with torch.no_grad():
            if kind == "t5":
                answer.append(int(model(torch.tensor([prompt]), torch.tensor([answer]))[0, -1].argmax()))
            else:
                text.append(int(model(torch.tensor([text]))[0, -1].argmax()))
    assert generate(model, prompt, 6, temperature=0) == [answer[1:] if kind == "t5" else text]


@every_kind
@pytest.mark.parametrize(
    "how",
    [
        dict(temperature=0),
        dict(temperature=0.9, seed=7),
        dict(temperature=1.5, top_k=6, top_p=0.9, min_p=0.01, repetition_penalty=1.2, seed=3),
    ],
    ids=["greedy", "sampled", "filtered"],
)
def test_a_row_of_a_batch_equals_its_solo_run(kind: str, how: dict):
    """Row i draws with seed + i, whatever stands beside it."""
    model, prompts = build(kind), [[1, 2], [3], [4, 5, 6, 7, 8], [9, 10, 11]]
    together = generate(model, prompts, 20 if kind != "t5" else 8, **how)
    for i, prompt in enumerate(prompts):
        alone = how | ({"seed": how["seed"] + i} if "seed" in how else {})
        assert generate(model, prompt, 20 if kind != "t5" else 8, **alone) == [together[i]]


def test_seeds_repeat_and_differ():
    model = build()
    draw = lambda seed: generate(model, [1, 2, 3], 12, temperature=1.0, seed=seed)
    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    several = generate(model, [[1, 2, 3]] * 4, 12, temperature=1.5, seed=0)
    assert len({tuple(row) for row in several}) == 4, "the same prompt several times is several texts"


@every_kind
def test_streaming_yields_what_generating_returns(kind: str):
    model, prompts = build(kind), [[1, 2], [3]]
    steps = list(stream(model, prompts, 7, temperature=0.8, seed=1))
    assert all(step.shape == (2,) for step in steps)
    new = torch.stack(steps, 1).tolist()
    given = [[], []] if kind == "t5" else prompts
    assert [a + b for a, b in zip(given, new)] == generate(model, prompts, 7, temperature=0.8, seed=1)


def test_streaming_is_lazy():
    model = build()
    calls = 0

    def count(*_) -> None:
        nonlocal calls
        calls += 1

    model.embed.register_forward_hook(count)
    steps = stream(model, [1], 10, temperature=0)
    assert calls == 0
    next(steps)
    assert calls == 1


def test_ends():
    model = build()
    free = generate(model, [[1], [2]], 12, temperature=0)
    end = free[0][4]
    first = free[0].index(end, 1)
    stopped = generate(model, [[1], [2]], 12, temperature=0, end=end)
    assert stopped[0] == free[0][: first + 1]
    after = [i for i, token in enumerate(free[1]) if token == end and i > 0]
    assert stopped[1] == (free[1][: after[0] + 1] if after else free[1])
    assert generate(model, [1], 12, temperature=0, end=[end, 99]) == [stopped[0]]
    assert generate(model, [1], 12, temperature=0, end=()) == [free[0]]


def test_the_stream_of_a_row_that_has_ended_repeats_its_end():
    model, how = build(), dict(temperature=2.0, seed=0)
    free = torch.stack(list(stream(model, [[1], [2]], 12, **how)), 1).tolist()
    place = next(i for i, token in enumerate(free[0]) if token not in free[1])
    end = free[0][place]
    assert len(set(free[0][place:])) > 3, "it would go on otherwise"
    rows = torch.stack(list(stream(model, [[1], [2]], 12, **how, end=end)), 1).tolist()
    assert rows == [free[0][:place] + [end] * (12 - place), free[1]]
    assert len(list(stream(model, [1], 12, **how, end=end))) == place + 1, "all have ended"


@every_kind
def test_generation_neither_trains_nor_disturbs(kind: str):
    """Dropout is off while it runs, gradients are not kept, and the mode between steps is the caller's."""
    model = build(kind, dropout=0.5 if kind != "llama" else 0.0).train()
    expected = generate(model.eval(), [1, 2], 8, temperature=0)
    model.train()
    before = torch.get_rng_state()
    assert generate(model, [1, 2], 8, temperature=0) == expected
    assert torch.equal(torch.get_rng_state(), before)
    for step in stream(model, [1, 2], 3):
        assert model.training
        assert all(module.training for module in model.modules())
        assert torch.is_grad_enabled()
        assert not step.requires_grad
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.untyped
def test_a_compiled_model_generates():
    model = build()
    torch._dynamo.reset()
    wrapped = torch.compile(model, backend="eager")
    assert generate(wrapped, [1, 2], 5, temperature=0) == generate(model, [1, 2], 5, temperature=0)


def test_densities_add_up_to_one():
    """Over all continuations of two tokens: Σ p(a, b | x) = 1."""
    model = build()
    v = torch.arange(13)
    every = torch.cartesian_prod(torch.tensor([5]), v, v)
    with torch.no_grad():
        logs = log_probabilities(model, every)
    assert logs.shape == (169, 2)
    assert logs.sum(1).exp().sum().item() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["gpt", "llama", "lstm", "markov"])
def test_the_density_of_an_answer_is_a_quotient(kind: str):
    """p(x | c) = p(c ‖ x) / p(c), whatever the model, also where prompts and answers are padded."""
    if kind == "lstm":
        torch.manual_seed(0)
        model: nn.Module = RecurrentLM(vocabulary=13, width=9).double()
    elif kind == "markov":
        model = MarkovChain.from_tokens(torch.randint(13, (400,), generator=torch.Generator().manual_seed(0)), 13, 2)
    else:
        model = build(kind)
    c, x = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[7, 8, 9, 10], [11, 12, 0, 1]])
    joined = log_probabilities(model, torch.cat([c, x], 1)).sum(1) - log_probabilities(model, c).sum(1)
    torch.testing.assert_close(log_probabilities(model, x, source=c).sum(1), joined)
    c_mask = torch.tensor([[0, 1, 1], [1, 1, 0]]).bool()
    x_mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()
    found = log_probabilities(model, x, x_mask, source=c, source_mask=c_mask)
    for i in range(2):
        alone = log_probabilities(model, x[i][x_mask[i]][None], source=c[i][c_mask[i]][None])[0]
        torch.testing.assert_close(found[i][x_mask[i]], alone)
    assert found[1, 2:].tolist() == [0, 0]


def test_densities_by_hand_and_with_padding():
    model, text = build("llama"), torch.tensor([[3, 1, 4, 1, 5]])
    expected = model(text)[0, :-1].log_softmax(-1)[torch.arange(4), text[0, 1:]]
    torch.testing.assert_close(log_probabilities(model, text)[0], expected)
    padded = torch.tensor([[9, 9, 3, 1, 4, 1, 5, 9]])
    mask = torch.tensor([[False, False, True, True, True, True, True, False]])
    got = log_probabilities(model, padded, mask)
    torch.testing.assert_close(got[0, 2:6], expected)
    assert got[0, [0, 1, 6]].tolist() == [0, 0, 0]
    log_probabilities(model, text).sum().backward()
    assert model.embed.weight.grad is not None


def test_densities_of_answers():
    model = build("t5")
    source = torch.tensor([[3, 1, 4]])
    v = torch.arange(13)
    every = torch.cartesian_prod(v, v)
    with torch.no_grad():
        logs = log_probabilities(model, every, source=source.expand(169, -1))
    assert logs.shape == (169, 2)
    assert logs.sum(1).exp().sum().item() == pytest.approx(1.0, abs=1e-12)
    mask = torch.tensor([[True, True, False]])
    padded = log_probabilities(model, torch.tensor([[7, 8, 9]]), mask, source)
    assert padded[0, 2] == 0
    assert math.isclose(padded[0, 1].item(), logs[7 * 13 + 8, 1].item(), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate(build(), [1], 0), "tokens must be above 0, got 0"),
        (lambda: generate(build(), [1], 3, beams=2, temperature=0), "beam search does not sample, got temperature too"),
        (lambda: stream(BERT(**SIZES), [1], 3), "generating needs a language model, got BERT"),
        (
            lambda: log_probabilities(build(), torch.tensor([[1]])),
            "a text must have at least two tokens, got 1; the first is given",
        ),
        (
            lambda: log_probabilities(BERT(**SIZES), torch.tensor([[1, 2]])),
            "needs a language model with its head, got BERT",
        ),
        (
            lambda: log_probabilities(build("t5"), torch.tensor([[1, 2]])),
            "a T5 answers a source, got none; pass source=",
        ),
    ],
)
def test_messages(call, message: str):
    with pytest.raises(ValueError, match=message):
        call()
