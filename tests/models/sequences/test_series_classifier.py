import pytest
import torch

from cutaway.inside.tracing import trace
from cutaway.models import SeriesClassifier, from_spec, spec_from_dict


def model_of(design: str, **sizes: int) -> SeriesClassifier:
    torch.manual_seed(0)
    return SeriesClassifier(**dict(classes=3, channels=2, design=design, width=5, depth=3) | sizes).double().eval()


@pytest.mark.parametrize("design", ["conv", "rnn"])
def test_a_padded_series_is_classified_as_if_it_came_alone(design: str):
    model = model_of(design)
    x, lengths = torch.randn(3, 11, 2, dtype=torch.float64), torch.tensor([11, 4, 7])
    together = model(x, lengths)
    for i, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(together[i], model(x[i : i + 1, :n])[0])


def test_in_training_padding_does_not_count_for_the_norms():
    one, other = model_of("conv").train(), model_of("conv").train()
    x, lengths = torch.randn(3, 11, 2, dtype=torch.float64), torch.tensor([11, 4, 7])
    wide = torch.cat([x, torch.full((3, 6, 2), 9.0, dtype=torch.float64)], 1)
    torch.testing.assert_close(one(x, lengths), other(wide, lengths))
    torch.testing.assert_close(one.layers[1].norm.running_mean, other.layers[1].norm.running_mean)


def test_evidence_adds_up_to_the_logits():
    model = model_of("conv")
    x, lengths = torch.randn(2, 9, 2, dtype=torch.float64), torch.tensor([9, 5])
    terms = model.evidence(x, lengths)
    torch.testing.assert_close(terms[0].mean(0), model(x, lengths)[0])
    torch.testing.assert_close(terms[1, :5].mean(0), model(x, lengths)[1])
    with pytest.raises(ValueError, match="got design='rnn'; look at gradients instead"):
        model_of("rnn").evidence(x, lengths)


def test_the_convolutions_equal_torch():
    """One layer, written with torch.nn."""
    model = model_of("conv", depth=1)
    x = torch.randn(2, 9, 2, dtype=torch.float64)
    conv = torch.nn.Conv1d(2, 5, 9, padding=4, bias=False).double()
    conv.weight.data = model.layers[0].conv.weight.data
    norm = torch.nn.BatchNorm1d(5).double().eval()
    h = norm(conv(x.mT)).relu().mean(-1)
    torch.testing.assert_close(model(x), h @ model.head.linear.weight + model.head.linear.bias)


def test_values_are_standardised_by_the_training_series():
    model = model_of("rnn")
    x, lengths = torch.randn(20, 6, 2, dtype=torch.float64) * 30 + 7, torch.full((20,), 6)
    x[:, :, 1] = 4.0  # a constant channel
    model.set_scale(x, lengths)
    torch.testing.assert_close(model.mean, torch.stack([x[..., 0].mean(), torch.tensor(4.0).double()]))
    assert model.spread[1] == 1
    fresh = model_of("rnn")
    torch.testing.assert_close(model(x), fresh((x - model.mean) / model.spread))


def test_spec_round_trip_and_taps():
    model = model_of("conv")
    assert from_spec(spec_from_dict(model.spec.to_dict())).spec == model.spec
    with trace(model, "layers.*.output", "pooled") as seen:
        model(torch.randn(2, 9, 2, dtype=torch.float64))
    assert seen["layers.1.output"].shape == (2, 9, 10)
    assert seen["pooled"].shape == (2, 5)


def test_messages():
    with pytest.raises(ValueError, match=r"design must be .*tree"):
        SeriesClassifier(classes=3, design="tree")
    with pytest.raises(ValueError, match=r"values must have width 2, got shape \(2, 9, 3\)"):
        model_of("conv")(torch.randn(2, 9, 3, dtype=torch.float64))


@pytest.mark.parametrize("design", ["conv", "rnn"])
def test_lengths_as_a_list_and_empty_batches(design):
    model, x = SeriesClassifier(channels=3, classes=2, design=design).eval(), torch.randn(2, 9, 3)
    assert torch.equal(model(x, [9, 4]), model(x, torch.tensor([9, 4])))
    assert model(x[:0]).shape == model(x[:0], []).shape == (0, 2)
    with pytest.raises(ValueError, match="lengths must be at most the number of steps, 9, got 10"):
        model(x, [9, 10])
    with pytest.raises(ValueError, match="at least one step, got a length of 0"):
        model(x, (9, 0))
