"""The model of word vectors: contexts, output layers, subwords."""

import pytest
import torch

from cutaway.models import WordVectors, WordVectorsSpec, from_spec, spec_from_dict
from cutaway.models.words.word_vectors import OUTPUTS

WORDS = ["the", "cat", "dog", "sat", "mat"]
COUNTS = torch.tensor([50, 20, 20, 10, 5])


def model(**changes) -> WordVectors:
    return WordVectors.of_words(WordVectorsSpec(vocabulary=5, width=3, **changes), WORDS, COUNTS)


def test_a_context_is_the_sum_or_the_mean_of_its_words():
    contexts, mask = torch.tensor([[0, 2, 4], [1, 1, 0]]), torch.tensor([[True] * 3, [True, True, False]])
    for kind in ("sum", "mean"):
        net = model(context=kind)
        v = net.embed.weight
        expected = torch.stack([v[0] + v[2] + v[4], v[1] + v[1]])
        if kind == "mean":
            expected = expected / torch.tensor([[3.0], [2.0]])
        torch.testing.assert_close(net.encode(contexts, mask), expected)
        torch.testing.assert_close(net.encode(contexts[:1]), expected[:1])


@pytest.mark.parametrize("output", [o for o in OUTPUTS if o != "none"])
def test_every_output_layer_gives_probabilities_and_survives_its_spec(output):
    net = model(output=output)
    log_p = net(torch.tensor([[0, 2]]))
    assert log_p.shape == (1, 5)
    assert log_p.exp().sum().item() == pytest.approx(1.0, abs=1e-5)
    with torch.device("meta"):
        twin = from_spec(spec_from_dict(net.spec.to_dict()))
    twin.load_state_dict(net.state_dict(), assign=True)
    torch.testing.assert_close(twin(torch.tensor([[0, 2]])), log_p)


def test_subwords_are_summed_and_give_vectors_to_words_never_seen():
    net = model(buckets=100)
    weight = net.embed.weight
    rows = net.subword_rows[net.subword_starts[1] : net.subword_starts[2]]
    torch.testing.assert_close(net.vectors()[1], weight[rows].sum(0))
    torch.testing.assert_close(net.input_vectors(torch.tensor([[4, 1]])), net.vectors()[[4, 1]][None])
    unseen = net.vector_of_pieces("cat")  # its pieces alone, without the row of the word
    torch.testing.assert_close(unseen, net.vectors()[1] - weight[1])
    assert net.vector_of_pieces("") is None
    assert model().vector_of_pieces("cat") is None


def test_gradients_reach_every_piece():
    net = model(buckets=100)
    net.input_vectors(torch.tensor([1])).sum().backward()
    touched = net.embed.weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert touched == sorted({1, *net.subword_rows[net.subword_starts[1] : net.subword_starts[2]].tolist()})


def test_messages():
    with pytest.raises(ValueError, match="output must be"):
        model(output="softmax")
    with pytest.raises(ValueError, match="no output layer to guess words with"):
        model(output="none")(torch.tensor([[1]]))
    with pytest.raises(ValueError, match="0 or more, got -1"):
        WordVectorsSpec(vocabulary=5, buckets=-1)
