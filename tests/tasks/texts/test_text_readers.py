"""Texts as arrays, the readers' cost, probabilities in any order, and tokens that read as their text."""

import numpy as np
import pytest
import torch

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.data.labelled.ngrams import Ngrams
from cutaway.data.text.word_tokens import train_letters, train_words
from cutaway.models import TextClassifier
from cutaway.tasks.texts.text_readers import (
    TextEncoder,
    class_probabilities,
    given_vectors,
    place_vectors,
    token_texts,
    vote_cost,
)

TEXTS = ["so good, so charming", "dull", "", "a film that isn't over when it is over"]
WORDS = train_words(TEXTS, 100)
NGRAMS = Ngrams.of(TEXTS, 1000)
ENCODED = TextEncoder(WORDS, NGRAMS, 5).encode(TextRows(TEXTS, np.array([0, 1, 1, 0])))


def model(**more) -> TextClassifier:
    sizes = dict(classes=2, vocabulary=WORDS.vocabulary, features=len(NGRAMS), vector_width=4, width=3, dropout=0.0)
    return TextClassifier(**sizes | more).eval()


def test_texts_are_cut_and_never_empty():
    assert ENCODED.tokens.lengths.tolist() == [5, 1, 1, 5]
    assert ENCODED.tokens[2].tolist() == [1]
    assert ENCODED.features.lengths[2] == 0


def test_the_cost_is_the_sum_of_the_readers():
    net, batch = model(readers=2), ENCODED.batch(np.arange(4))
    votes = net(torch.from_numpy(batch.tokens), apart=True)
    each = [torch.nn.functional.cross_entropy(vote, torch.from_numpy(batch.labels)) for vote in votes]
    torch.testing.assert_close(vote_cost(net, batch), sum(each))


def test_probabilities_come_in_the_order_of_the_texts():
    net = model()
    together = class_probabilities(net, ENCODED)
    np.testing.assert_allclose(together.sum(1), 1)
    for i, text in enumerate(TEXTS):
        alone = class_probabilities(net, TextEncoder(WORDS, NGRAMS, 5).encode_texts([text]))
        np.testing.assert_allclose(alone[0], together[i], atol=1e-6)


def test_tokens_read_as_their_text():
    text = "So GOOD,  isn't it?  "
    for tokenizer in (WORDS, train_letters([text])):
        found = token_texts(tokenizer, text, tokenizer.encode(text))
        assert "".join(found) == (text if tokenizer.kind == "letters" else text.rstrip())
    assert token_texts(WORDS, "", np.array([1])) == (" ",)


def test_vectors_are_scaled_and_placed(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("good 10 -10\nunseen 30 -30\ndull 0 20\n")
    words, matrix = given_vectors(str(path), "utf-8")
    assert words == ["good", "unseen", "dull"]
    assert matrix.std() == pytest.approx(0.5)
    net = model(vector_width=2)
    assert place_vectors(net, WORDS, words, matrix) == 2
    row = net.embed.weight[WORDS.inner.token_to_id("good")].detach().numpy()
    np.testing.assert_allclose(row, matrix[0])


def test_shaken_texts_have_fewer_words_in_another_order():
    from cutaway.tasks.texts.text_readers import shaken

    torch.manual_seed(0)
    tokens = torch.tensor([[*range(1, 41), 0, 0], [7, *[0] * 41]])
    new = shaken(tokens, 0.3)
    assert new.shape == tokens.shape
    left = new[0][new[0] != 0].tolist()
    assert 15 < len(left) < 40
    assert len(set(left)) == len(left)  # no word twice
    assert left != sorted(left)
    assert new[1].tolist() == tokens[1].tolist()  # the last word of a text stays
    assert new[0][len(left) :].sum() == 0
    assert torch.equal(shaken(tokens, 0.0), tokens)
