"""Recurrent language models: torch.nn's layers with the same weights, padding, carried states, generation, density."""

import math
from itertools import product

import pytest
import torch
from torch import nn

from cutaway.models import (
    CarriedState,
    RecurrentLM,
    RecurrentLMSpec,
    beam_search,
    exact_top,
    from_spec,
    generate,
    log_probabilities,
    spec_from_dict,
    stream,
)
from cutaway.models.recurrent.language_model import CELLS

every_cell = pytest.mark.parametrize("cell", CELLS)


def build(cell: str = "lstm", **more) -> RecurrentLM:
    torch.manual_seed(0)
    sizes = dict(vocabulary=7, width=5, depth=2, embedding=3) | more
    model = RecurrentLM(cell=cell, **sizes)
    for p in model.parameters():
        nn.init.normal_(p, std=0.7)
    return model.double()


def test_equals_torchs_embedding_lstm_and_linear():
    """Written with torch.nn: Embedding, LSTM of two layers, Linear, with the same weights."""
    model, tokens = build("lstm"), torch.randint(7, (3, 11))
    theirs = nn.LSTM(3, 5, 2, batch_first=True).double()
    with torch.no_grad():
        for i, layer in enumerate(model.recurrence.layers):
            cell = layer["forwards"]
            theirs.__getattr__(f"weight_ih_l{i}").copy_(cell.map_input.weight.T)
            theirs.__getattr__(f"weight_hh_l{i}").copy_(cell.map_hidden.weight.T)
            theirs.__getattr__(f"bias_ih_l{i}").copy_(cell.map_input.bias)
            theirs.__getattr__(f"bias_hh_l{i}").zero_()
        y, _ = theirs(model.embed.weight[tokens])
        torch.testing.assert_close(model(tokens), y @ model.unembed.weight + model.unembed.bias)


@every_cell
def test_a_state_carries_a_text_on(cell: str):
    model, tokens = build(cell), torch.randint(7, (3, 13))
    state = CarriedState()
    parts = [model(tokens[:, :5], state=state), model(tokens[:, 5:6], state=state), model(tokens[:, 6:], state=state)]
    torch.testing.assert_close(torch.cat(parts, 1), model(tokens))


@every_cell
def test_padding_anywhere_is_skipped(cell: str):
    model = build(cell)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 1, 1, 1]]).bool()
    tokens = torch.randint(7, mask.shape)
    state = CarriedState()
    found = model(tokens, mask, state)
    for row, real, logits, hidden in zip(tokens, mask, found, state.value.hidden, strict=True):
        alone = CarriedState()
        torch.testing.assert_close(logits[real], model(row[real][None], state=alone)[0])
        torch.testing.assert_close(hidden, alone.value.hidden[0])


def test_rows_are_reset_picked_and_cut_off():
    model, tokens = build(), torch.randint(7, (3, 4))
    state = CarriedState()
    model(tokens, state=state)
    state.reset(torch.tensor([False, True, False]))
    state.detach()
    assert not state.value.cell.requires_grad
    again = model(tokens, state=state)
    torch.testing.assert_close(again[1:2], model(tokens[1:2]))
    assert not torch.allclose(again[:1], model(tokens[:1]))
    state.pick(torch.tensor([2, 2]))
    assert torch.equal(state.value.hidden[0], state.value.hidden[1])
    empty = CarriedState()
    empty.reset(torch.tensor([True]))
    assert empty.value is None


@every_cell
@pytest.mark.parametrize("how", [dict(temperature=0), dict(temperature=1.3, top_k=5, repetition_penalty=1.1, seed=4)])
def test_generating_equals_whole_passes(cell: str, how: dict):
    """A batch of prompts of different lengths, stepped with its state, against one pass over everything so far."""
    model, prompts = build(cell), [[1, 2, 3, 4], [5], [6, 0]]
    together = generate(model, prompts, 9, **how)
    for i, prompt in enumerate(prompts):
        alone = how | ({"seed": how["seed"] + i} if "seed" in how else {})
        assert generate(model, prompt, 9, **alone) == [together[i]]
        if how["temperature"] == 0:
            text = list(prompt)
            for _ in range(9):
                text.append(int(model(torch.tensor([text]))[0, -1].argmax()))
            assert text == together[i]


def test_density_sums_to_one_and_search_finds_the_best():
    """The product rule over all 7³ continuations of a prompt; the best of them by exact search and a wide beam."""
    model, prompt = build("gru"), [3, 1]
    texts = torch.tensor([[*prompt, *rest] for rest in product(range(7), repeat=3)])
    logs = log_probabilities(model, texts)[:, len(prompt) - 1 :].sum(1)
    assert math.isclose(logs.exp().sum().item(), 1, rel_tol=1e-12)
    best = logs.topk(3)
    found = exact_top(model, prompt, 3, count=3)
    assert [f.tokens for f in found] == texts[best.indices].tolist()
    assert [f.log_probability for f in found] == pytest.approx(best.values.tolist())
    (beams,) = beam_search(model, prompt, 3, beams=49, alpha=0)
    assert [f.tokens for f in beams[:3]] == texts[best.indices].tolist()


def test_a_text_ends():
    model = build(end=(2,))
    (text,) = generate(model, [1], 400, end=model.spec.end, temperature=1.0, seed=0)
    assert text.index(2) == len(text) - 1
    assert len(list(stream(model, [1], 400, end=2, seed=0))) == len(text) - 1


@pytest.mark.parametrize("embedding", [None, 3])
def test_tied_output_reads_the_embeddings(embedding: int | None):
    model = build(tied=True, embedding=embedding)
    z = torch.randn(2, 5).double()
    mapped = z if embedding is None else z @ model.project.weight
    torch.testing.assert_close(model.read_out(z), mapped @ model.embed.weight.T)
    assert model.unembed is None


@every_cell
def test_a_spec_opens_its_model(cell: str):
    model = build(cell, dropout=0.1, tied=True)
    spec = spec_from_dict(model.spec.to_dict())
    assert spec == model.spec
    again = from_spec(spec).double()
    again.load_state_dict(model.state_dict())
    tokens = torch.randint(7, (2, 3))
    assert torch.equal(again.eval()(tokens), model.eval()(tokens))


def test_gradients():
    model = build("lstm", depth=1, tied=True)
    tokens = torch.randint(7, (2, 4))
    weights = tuple(p.detach().requires_grad_() for p in model.parameters())
    names = [name for name, _ in model.named_parameters()]
    run = lambda *values: torch.func.functional_call(model, dict(zip(names, values)), (tokens,)).log_softmax(-1)
    assert torch.autograd.gradcheck(run, weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RecurrentLMSpec(5, cell="elman"), "cell must be one of rnn, lstm, .* got 'elman'"),
        (lambda: RecurrentLMSpec(0), "vocabulary must be above 0, got 0"),
        (lambda: RecurrentLMSpec(5, end=(5,)), "an end token must lie from 0 to 4, got 5"),
        (lambda: RecurrentLMSpec(5, dropout=1.5), "dropout must .* got 1.5"),
        (lambda: build()(torch.tensor([[7]])), "tokens must lie from 0 to 6, got 7"),
        (lambda: build()(torch.zeros(2, 0).long()), "at least one step"),
        (lambda: build()(torch.zeros(2, 3).long(), torch.zeros(2, 3).bool()), "got a length of 0"),
    ],
)  # fmt: skip
def test_messages(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.untyped
def test_compiles_whole_and_carries_its_state():
    torch._dynamo.reset()
    model, tokens = build("lstm"), torch.randint(7, (2, 5))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    ours, theirs = CarriedState(), CarriedState()
    for _ in range(2):
        torch.testing.assert_close(compiled(tokens, state=theirs), model(tokens, state=ours))
