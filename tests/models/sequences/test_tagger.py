"""The tagger: its equation by hand, padding, words in both directions, given vectors."""

import pytest
import torch

import cutaway as cut
from cutaway.models import Tagger, TaggerInput, TaggerSpec

SIZES = dict(
    tags=5,
    words=11,
    characters=13,
    affixes=7,
    shapes=3,
    word_width=4,
    letter_width=3,
    filters=5,
    affix_width=2,
    width=6,
)


def inputs(rows=2, steps=7, spellings=6, lengths=(7, 4)) -> TaggerInput:
    letters = torch.randint(1, 13, (spellings, 5))
    letters[0, 2:] = 0
    return TaggerInput(
        torch.randint(0, 11, (rows, steps)),
        torch.randint(0, spellings, (rows, steps)),
        letters,
        torch.randint(0, 7, (spellings, 8)),
        torch.randint(0, 3, (spellings,)),
        torch.randint(0, 9, (spellings,)),
        torch.tensor(lengths),
    )


def test_the_equation(float64):
    """logits = BiLSTM([E[w], V[w], max relu(conv(letters)), affixes, shape]) W + b."""
    model = Tagger(**SIZES, vectors=9, vector_width=3, dropout=0.0).eval()
    given = inputs(1, 3, 2, (3,))
    rows = []
    for word, place in zip(given.words[0], given.places[0], strict=True):
        letters = given.characters[place]
        letters = letters[letters > 0]
        spelled = model.spelling.conv(model.spelling.embed_letters.weight[letters]).relu().amax(0)
        ends = model.spelling.embed_affixes.weight[given.affixes[place]].flatten()
        shape = model.spelling.embed_shape.weight[given.shapes[place]]
        vector = model.embed_vector.weight[given.vectors[place]]
        rows.append(torch.cat([model.embed_word.weight[word], vector, spelled, ends, shape]))
    h, _ = model.lstm(torch.stack(rows)[None])
    torch.testing.assert_close(model(given), model.classify(h))


def test_a_padded_sentence_is_tagged_as_if_it_came_alone(float64):
    model, given = Tagger(**SIZES).eval(), inputs()
    alone = given._replace(words=given.words[1:, :4], places=given.places[1:, :4], lengths=given.lengths[1:])
    torch.testing.assert_close(model(given)[1, :4], model(alone)[0])


def test_every_word_sees_the_whole_sentence(float64):
    model, given = Tagger(**SIZES).eval(), inputs()
    other = given._replace(words=given.words.clone())
    other.words[0, 3] = (other.words[0, 3] + 1) % 11
    changed = (model(given) != model(other)).any(-1)
    assert changed[0].all()
    assert not changed[1].any()


def test_given_vectors(float64):
    model = Tagger(**SIZES, vectors=4, vector_width=2, learn_vectors=False)
    model.set_vectors(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]))
    assert model.embed_vector.weight.tolist() == [[3.0, 5.0], [1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]  # the mean first
    assert not model.embed_vector.weight.requires_grad
    assert Tagger(**SIZES).embed_vector is None


def test_taps_reach_the_output(float64):
    model, given = Tagger(**SIZES, vectors=9, vector_width=3).eval(), inputs()
    taps = ["word", "vector", "inputs", "states", "spelling.letters", "spelling.affixes", "spelling.shape"]
    with cut.trace(model, taps) as seen:
        plain = model(given)
    assert seen["inputs"].shape == (2, 7, model.spec.inputs)
    assert seen["states"].shape == (2, 7, 12)
    for tap in taps:
        with cut.patch(model, {tap: lambda v: v + 1}):
            assert not torch.equal(model(given), plain), tap


def test_dropout_is_for_training():
    model, given = Tagger(**SIZES, dropout=0.5), inputs()
    assert not torch.equal(model(given), model(given))
    assert torch.equal(model.eval()(given), model(given))


def test_spec():
    spec = TaggerSpec(**SIZES)
    assert cut.models.spec_from_dict(spec.to_dict()) == spec
    with pytest.raises(ValueError, match=r"have rows and a width, got vectors=3, vector_width=0; set both, or neither"):
        TaggerSpec(**SIZES, vectors=3)
    with pytest.raises(ValueError, match=r"tags must be above 0, got 0"):
        TaggerSpec(**SIZES | {"tags": 0})
