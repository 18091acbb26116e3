"""A classifier of texts: votes by hand, padding that changes nothing, and what each voter learns from."""

import pytest
import torch

from cutaway.blocks.attention.pooling import pool_max
from cutaway.models import TextClassifier, TextClassifierSpec, from_spec, spec_from_dict

SIZES = dict(classes=3, vocabulary=11, features=7, vector_width=4, width=6, kernels=(2, 3), heads=3, dropout=0.0)
TOKENS = torch.tensor([[2, 3, 4, 5, 6]])
FEATURES = torch.tensor([[1, 2, 6]])
READERS = ("cnn", "rnn", "transformer")


def classifier(reader: str = "cnn", **more) -> TextClassifier:
    return TextClassifier(reader=reader, **SIZES | more).eval()


def test_the_vote_of_convolutions_written_out():
    model = classifier().double()
    reader = model.readers[0]
    x = model.embed.weight[TOKENS].transpose(1, 2)
    parts = []
    for conv in reader.encoder.kernels:
        before = (conv.kernel - 1) // 2
        padded = torch.nn.functional.pad(x, (before, conv.kernel - 1 - before))
        parts.append(torch.relu(torch.nn.functional.conv1d(padded, conv.weight, conv.bias)))
    z = torch.cat(parts, 1).transpose(1, 2)
    weights = (z @ reader.pool.map.weight).softmax(1)
    pooled = torch.cat([z.amax(1), (weights * z).sum(1)], -1)
    vote = pooled @ reader.classify.weight + reader.classify.bias
    torch.testing.assert_close(model(TOKENS, apart=True)[0], vote)


@pytest.mark.parametrize("reader", READERS)
def test_logits_are_the_votes_together(reader):
    model = classifier(reader, readers=2)
    votes = model(TOKENS, apart=True)
    assert votes.shape == (2, 1, 3)
    together = 0.33 * votes.mean(0) + 0.67 * model.ngrams(FEATURES)
    torch.testing.assert_close(model(TOKENS, FEATURES), together)


def test_one_voter_alone():
    bag, reader = classifier("none"), classifier(features=0)
    torch.testing.assert_close(bag(TOKENS, FEATURES), bag.ngrams(FEATURES))
    torch.testing.assert_close(reader(TOKENS), reader(TOKENS, apart=True)[0])


@pytest.mark.parametrize("reader", READERS)
def test_padding_changes_nothing(reader):
    model = classifier(reader).double()
    alone = model(TOKENS, FEATURES)
    padded = model(torch.nn.functional.pad(TOKENS, (0, 4)), torch.nn.functional.pad(FEATURES, (0, 2)))
    torch.testing.assert_close(padded, alone)
    longer = torch.tensor([[2, 3, 4, 5, 6, 0, 0], [7, 8, 9, 2, 3, 4, 5]])
    torch.testing.assert_close(model(longer, FEATURES.expand(2, 3))[:1], alone)


def test_a_text_of_padding_alone_is_finite():
    assert classifier()(torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 1, dtype=torch.long)).isfinite().all()


def test_order_matters_to_readers_and_not_to_the_bag():
    model = classifier()
    turned, bag = TOKENS.flip(1), FEATURES.flip(1)
    assert not torch.allclose(model(TOKENS, apart=True), model(turned, apart=True))
    torch.testing.assert_close(model.ngrams(FEATURES), model.ngrams(bag))


def test_words_are_hidden_only_in_training():
    model = classifier(hide=0.9)
    torch.testing.assert_close(model(TOKENS, FEATURES), model(TOKENS, FEATURES))
    model.train()
    many = TOKENS.expand(50, 5)
    assert len(model(many, FEATURES.expand(50, 3)).unique(dim=0)) > 3


def test_given_vectors():
    model = classifier()
    vectors = torch.randn(2, 4)
    model.set_vectors(torch.tensor([5, 9]), vectors)
    torch.testing.assert_close(model.embed.weight[[5, 9]], vectors)


def test_through_its_spec():
    model = classifier("rnn", readers=2)
    again = from_spec(spec_from_dict(model.spec.to_dict()))
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again.eval()(TOKENS, FEATURES), model(TOKENS, FEATURES))


def test_pool_max_ignores_padding_below_zero():
    z = torch.tensor([[[-1.0], [-2.0], [0.0]]])
    assert pool_max(z, torch.tensor([[True, True, False]])).item() == -1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reader": "gru"}, "reader must be one of cnn, rnn, transformer, none, got 'gru'"),
        ({"reader": "none", "features": 0}, "got reader='none' and features=0"),
        ({"kernels": ()}, r"kernels must be sizes above 0, got \(\)"),
        ({"reader": "transformer", "heads": 4}, "got width=6, heads=4; try heads=3"),
        ({"dropout": 1.5}, "dropout must be a probability from 0 to 1, got 1.5"),
        ({"classes": 0}, "classes must be above 0, got 0"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TextClassifierSpec(**SIZES | changes)


def test_features_are_needed():
    with pytest.raises(ValueError, match="reads n-grams too, got features=None"):
        classifier()(TOKENS)
