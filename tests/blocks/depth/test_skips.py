"""Skip connections by hand, by their laws, and what they say about shapes that do not fit."""

import pytest
import torch
from representative import slow_but
from torch import nn

import cutaway as cut
from cutaway.blocks import Dense, DenselyConnected, Linear, Residual, Skip, SkipAttention

X = torch.tensor([[1.0, -2.0, 3.0]])
UPDATE = torch.tensor([[3.0, 4.0, -3.0]])


def give_update(x: torch.Tensor) -> torch.Tensor:
    return UPDATE


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        ("add", [4.0, 2.0, 0.0]),
        ("average", [2.0, 1.0, 0.0]),
        ("max", [3.0, 4.0, 3.0]),
        ("concatenate", [1.0, -2.0, 3.0, 3.0, 4.0, -3.0]),
    ],
)
def test_by_hand(combine, expected):
    assert torch.equal(Skip(give_update, combine)(X), torch.tensor([expected]))


def test_residual_is_the_skip_that_adds(float64):
    f = Dense(3, 3, torch.tanh)
    x = torch.randn(2, 5, 3)
    assert torch.equal(Residual(f)(x), x + f(x))
    assert torch.equal(Residual(f)(x), Skip(f)(x))


def test_the_gradient_passes_a_stack_of_residuals_unchanged_and_adds_updates(float64):
    """N3 §3.7.2: δ_in = δ_out + δ_update, exactly δ_out where the branches are dead."""
    stack = nn.Sequential(*[Residual(Dense(3, 3, torch.tanh)) for _ in range(7)])
    x, delta = torch.randn(5, 3, requires_grad=True), torch.randn(5, 3)
    with cut.patch(stack, {f"{i}.branch": lambda v: 0 * v for i in range(7)}):
        assert torch.equal(torch.autograd.grad((stack(x) * delta).sum(), x)[0], delta)
    one = stack[0]
    total = torch.autograd.grad((one(x) * delta).sum(), x)[0]
    update = torch.autograd.grad((one.block(x) * delta).sum(), x)[0]
    torch.testing.assert_close(total, delta + update)


def test_further_arguments_go_to_the_block():
    def scaled(x, factor, shift=0.0):
        return x * factor + shift

    assert torch.equal(Residual(scaled)(X, 2.0, shift=1.0), 3 * X + 1)
    assert torch.equal(Skip(scaled, "max")(X, 2.0, shift=1.0), torch.maximum(X, 2 * X + 1))


def test_your_own_combination():
    assert torch.equal(Skip(give_update, lambda x, u: x - u)(X), X - UPDATE)


@pytest.mark.parametrize("make", [Residual, Skip])
def test_taps_hold_the_values_of_the_equation(make):
    block = make(Linear(3, 3))
    x = torch.randn(5, 3)
    with cut.trace(block, "branch", "output") as seen:
        y = block(x)
    assert torch.equal(seen["branch"], block.block(x))
    assert torch.equal(seen["output"], y)
    with cut.patch(block, {"branch": 0.0}):
        assert torch.equal(block(x), x)


def test_attention_by_hand():
    # ⟨q, c⟩/√4 is log 3 for the first candidate and 0 for the second: weights ¾ and ¼
    attention = SkipAttention(4)
    attention.query.data = torch.tensor([2.0, 0.0, 0.0, 0.0]) * torch.tensor(3.0).log()
    a, b = torch.tensor([1.0, 0.0, 4.0, 0.0]), torch.tensor([0.0, 8.0, 0.0, 0.0])
    torch.testing.assert_close(attention(a, b), torch.tensor([0.75, 2.0, 3.0, 0.0]))
    with cut.trace(attention, "weights") as seen:
        attention(a, b)
    torch.testing.assert_close(seen["weights"], torch.tensor([0.75, 0.25]))


def test_attention_starts_as_the_average_and_takes_any_number(float64):
    candidates = torch.randn(4, 2, 5, 3)
    attention = SkipAttention(3)
    torch.testing.assert_close(attention(*candidates), candidates.mean(0))
    torch.testing.assert_close(Skip(give_update, SkipAttention(3))(X.double()), (X.double() + UPDATE.double()) / 2)
    nn.init.normal_(attention.query)
    torch.testing.assert_close(attention(*candidates), attention(*candidates.flip(0)))
    attention.reset_parameters()
    torch.testing.assert_close(attention(*candidates), candidates.mean(0))


def test_dense_net_keeps_all_that_came_before(float64):
    blocks = [Dense(3, 2, torch.tanh), Dense(5, 2, torch.tanh), Dense(7, 4, torch.tanh)]
    x = torch.randn(2, 3)
    net = DenselyConnected(blocks)
    y = net(x)
    assert y.shape == (2, 3 + 2 + 2 + 4)
    first = blocks[0](x)
    second = blocks[1](torch.cat([x, first], -1))
    third = blocks[2](torch.cat([x, first, second], -1))
    torch.testing.assert_close(y, torch.cat([x, first, second, third], -1))
    with cut.trace(net, "blocks.1.branch") as seen:
        net(x)
    torch.testing.assert_close(seen["blocks.1.branch"], second)


def test_dense_net_of_images_grows_channels():
    images = torch.randn(2, 3, 5, 7)
    net = DenselyConnected([nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(7, 2, 1)], axis=-3)
    assert net(images).shape == (2, 9, 5, 7)
    assert torch.equal(net(images)[:, :3], images)


def test_shapes_that_do_not_fit():
    message = r"combines by 'add' needs x and f\(x\) of one shape, got \(1, 3\) and \(2, 3\); .* by 'concatenate'"
    with pytest.raises(ValueError, match=message):
        Residual(lambda x: torch.zeros(2, 3))(X)
    with pytest.raises(
        ValueError, match=r"combines by 'max' needs x and f\(x\) of one shape, got \(1, 3\) and \(1, 1\)"
    ):
        Skip(lambda x: x[:, :1], "max")(X)
    message = r"concatenates along axis -1 needs x and f\(x\) alike on all other axes, got \(1, 3\) and \(2, 3\)"
    with pytest.raises(ValueError, match=message):
        Skip(lambda x: torch.zeros(2, 3), "concatenate")(X)
    with pytest.raises(ValueError, match=r"along axis 2 needs .* got \(1, 3\) and \(1, 3\); .* set axis="):
        Skip(give_update, "concatenate", axis=2)(X)


def test_bad_settings():
    with pytest.raises(ValueError, match="combine must be one of add, average, max, concatenate, got 'sum'"):
        Skip(give_update, "sum")
    with pytest.raises(ValueError, match="width must be above 0, got 0"):
        SkipAttention(0)


@pytest.mark.untyped
def test_bad_candidates():
    with pytest.raises(ValueError, match=r"the last axis of a candidate must have width 3, got shape \(1, 2\)"):
        SkipAttention(3)(X, X[:, :2])
    with pytest.raises(ValueError, match=r"combines by 'attention' needs .* got \(1, 3\) and \(2, 3\)"):
        SkipAttention(3)(X, X.repeat(2, 1))
    with pytest.raises(ValueError, match=r"a candidate must be a float tensor, got torch.int64"):
        SkipAttention(3)(X.long(), X.long())


@pytest.mark.untyped
@pytest.mark.parametrize(
    "combine", slow_but("concatenate", {name: name for name in ("add", "average", "max", "concatenate")})
)
def test_every_combination_compiles(combine):
    block = Skip(Linear(3, 3), combine)
    x = torch.randn(5, 3)
    torch.testing.assert_close(torch.compile(block, fullgraph=True, backend="aot_eager")(x), block(x))
