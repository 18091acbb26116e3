"""States carried from batch to batch: equal to one long pass, resumed from a checkpoint, mixed with the model's own."""

import torch

from cutaway.data.text.continued_windows import ContinuedWindow, ContinuedWindows
from cutaway.models import RecurrentLM
from cutaway.training.carried_training import CarriedTraining, mix_inputs


def build() -> RecurrentLM:
    torch.manual_seed(0)
    return RecurrentLM(vocabulary=11, width=6, depth=2, embedding=4)


def stream(jump: float = 0.3) -> ContinuedWindows:
    return ContinuedWindows(torch.randint(11, (200,), generator=torch.Generator().manual_seed(1)).numpy(), 5, 4, jump)


def test_costs_are_those_of_one_long_pass():
    model, batches = build(), stream(jump=0.0)
    training = CarriedTraining(model, 10)
    costs = [training(model, batches.at(n)).item() for n in range(3)]
    tokens = torch.cat([torch.from_numpy(batches.at(n).tokens) for n in range(3)], 1)
    targets = torch.cat([torch.from_numpy(batches.at(n).targets) for n in range(3)], 1)
    losses = torch.nn.functional.cross_entropy(model(tokens).mT, targets, reduction="none")
    torch.testing.assert_close(torch.tensor(costs), losses.view(4, 3, 5).mean((0, 2)))


def test_fresh_rows_forget():
    model, batch = build(), stream().at(0)
    training = CarriedTraining(model, 10)
    first = training(model, batch)
    again = training(model, batch._replace(number=1))  # every row is fresh: the past does not count
    torch.testing.assert_close(first, again)
    on = training(model, batch._replace(number=2, fresh=batch.fresh & False))
    assert not torch.allclose(first, on)


def test_the_same_batch_again_has_the_same_past():
    model, batches = build(), stream()
    training = CarriedTraining(model, 10)
    for n in range(4):
        once = training(model, batches.at(n))
        assert torch.equal(once, training(model, batches.at(n)))


def test_gradients_stay_inside_a_batch():
    model, batches = build(), stream(jump=0.0)
    training = CarriedTraining(model, 10)
    for n in range(2):
        training(model, batches.at(n)).backward()
    assert not training.present.value.hidden.requires_grad


def test_inputs_are_mixed_with_draws_of_the_model():
    """ε = 0 changes nothing and ε = 1 all but the first; the draws follow the model's own distribution."""
    model, tokens = build(), torch.randint(11, (64, 6))
    training = CarriedTraining(model, 10)
    torch.manual_seed(0)
    assert torch.equal(mix_inputs(model, tokens, training.past, 0.0), tokens)
    mixed = mix_inputs(model, tokens, training.past, 1.0)
    assert torch.equal(mixed[:, 0], tokens[:, 0])
    assert 0.8 < (mixed[:, 1:] != tokens[:, 1:]).double().mean() < 0.97  # 10 of 11 differ by chance
    many = mix_inputs(model, torch.full((20_000, 2), 3), CarriedTraining(model, 1).past, 1.0)[:, 1]
    p = model(torch.tensor([[3]]))[0, 0].softmax(-1)
    share = torch.bincount(many, minlength=11) / len(many)
    assert ((share - p).abs() < 5 * (p * (1 - p) / len(many)).sqrt()).all()
    assert model.training


def test_the_share_grows_over_the_run():
    model = build()
    batch = stream().at(0)
    training = CarriedTraining(model, batches=100, sampled=0.5)
    plain = CarriedTraining(model, batches=100)
    assert torch.equal(training(model, batch), plain(model, batch)), "no draws at the beginning"
    late: ContinuedWindow = batch._replace(number=99)
    torch.manual_seed(1)
    assert not torch.equal(training(model, late), plain(model, late))
