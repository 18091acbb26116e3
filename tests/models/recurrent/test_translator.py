import pytest
import torch

from cutaway.inside.tracing import trace
from cutaway.models import Seq2Seq, beam_search, exact_top, from_spec, generate, log_probabilities, spec_from_dict

START, END = 1, 2


def model_of(reads: str = "attention", **sizes: int) -> Seq2Seq:
    torch.manual_seed(0)
    return Seq2Seq(**dict(vocabulary=11, width=6, embedding=5, context=12, reads=reads) | sizes).double().eval()


@pytest.mark.parametrize("reads", ["attention", "thought"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_nothing(reads: str, side: str):
    model = model_of(reads, depth=2)
    source, target = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]]), torch.tensor([[1, 3, 4], [1, 9, 2]])
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    if side == "left":
        source[1], mask[1] = source[1].roll(2), mask[1].roll(2)
    together = model(source, target, mask)
    torch.testing.assert_close(together[0], model(source[:1], target[:1])[0])
    torch.testing.assert_close(together[1], model(torch.tensor([[7, 8]]), target[1:])[0])


@pytest.mark.parametrize("reads", ["attention", "thought"])
def test_writing_token_by_token_equals_the_whole_pass(reads: str):
    model = model_of(reads)
    sources = [[3, 4, 5, 6, 7], [8, 9]]
    for source, answer in zip(sources, generate(model, sources, 6, end=END, temperature=0), strict=True):
        given = torch.tensor([[START, *answer[:-1]]])
        assert model(torch.tensor([source]), given).argmax(-1)[0].tolist() == answer


def test_beams_and_exact_search_agree_with_the_density():
    model = model_of()
    best, *_ = exact_top(model, [3, 4, 5], 3, count=3, end=END)
    found = beam_search(model, [3, 4, 5], 3, beams=11**2, end=END, alpha=0.0)[0][0]
    assert found.tokens == best.tokens
    text = torch.tensor([best.tokens])
    density = log_probabilities(model, text, source=torch.tensor([[3, 4, 5]])).sum().item()
    assert best.log_probability == pytest.approx(density, abs=1e-9)


def test_an_answer_depends_on_every_word_of_the_source_and_of_itself_alone_before():
    model = model_of()
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7, 8]])
    whole = model(source, target)
    changed = target.clone()
    changed[0, 2] = 9
    torch.testing.assert_close(model(source, changed)[:, :2], whole[:, :2])
    assert not torch.allclose(model(source, changed)[:, 2], whole[:, 2])
    for place in range(3):
        other = source.clone()
        other[0, place] = 10
        assert not torch.allclose(model(other, target), whole)


def test_the_alignment_has_an_address():
    model = model_of()
    with trace(model, "decoder.weights", "memory", "encoder.layers.0.backwards.forget_gate") as seen:
        model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    assert seen["decoder.weights"].shape == (1, 1, 2, 3)
    assert seen["memory"].shape == (1, 3, 12)


def test_spec_round_trip_and_messages():
    model = model_of("thought")
    assert from_spec(spec_from_dict(model.spec.to_dict())).spec == model.spec
    with pytest.raises(ValueError, match="start and end tokens must lie from 0 to 10, got 20"):
        Seq2Seq(vocabulary=11, start=20)
    with pytest.raises(ValueError, match="context is 12 tokens, got tokens=13"):
        generate(model, [3], 13)
