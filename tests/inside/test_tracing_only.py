"""trace(only=...): a part of every value, an index of its leading axes."""

import pytest
import torch
from looking import chain
from torch import nn

import cutaway as cut
from cutaway.inside.taps import Part, Tap


class Pair(nn.Module):
    def forward(self, x):
        return x, {"double": 2 * x}


class Halves(nn.Module):
    """A block that can compute a part of its value alone, and says how much it computed."""

    def __init__(self):
        super().__init__()
        self.halved = Tap()
        self.computed = 0

    def forward(self, x):
        if self.halved.edited:
            return 2 * self.halved(x / 2)
        if self.halved.live:
            part = self.halved.wanted
            h = x[part] / 2
            self.computed = h.numel()
            self.halved(Part(h) if part else h)
        return x


@pytest.mark.parametrize("only", [0, (1,), (slice(1, 3), 2), [0, 3], torch.tensor([3, 0]), range(2)], ids=str)
def test_equals_the_whole_indexed(only):
    model, x = chain(), torch.randn(4, 3, 3)
    with cut.trace(model, "0", "2", gradients=True) as whole:
        model(x).sum().backward()
    with cut.trace(model, "0", "2", gradients=True, only=only) as seen:
        model(x).sum().backward()
    index = list(only) if isinstance(only, range) else only
    for address in ("0", "2"):
        assert torch.equal(seen[address], whole[address][index])
        assert torch.equal(seen.gradient[address], whole.gradient[address][index])


def test_every_tensor_of_a_structure():
    model, x = nn.Sequential(Pair()), torch.randn(4, 3)
    with cut.trace(model, "0", only=1) as seen:
        model(x)
    first, rest = seen["0"]
    assert torch.equal(first, x[1])
    assert torch.equal(rest["double"], 2 * x[1])


def test_the_rest_is_let_go():
    model, x = chain(), torch.randn(4, 3)
    with torch.no_grad(), cut.trace(model, "0", only=0) as seen:
        model(x)
    assert seen["0"].untyped_storage().nbytes() == 5 * 4  # one row of five float32


def test_the_memory_limit_counts_parts():
    model, x = chain(), torch.randn(100, 3)
    with cut.trace(model, "0", memory_limit=5 * 4, only=0):
        model(x)
    with (
        pytest.raises(MemoryError, match="memory_limit=39 bytes, got 40 at '0'; ask for fewer addresses or raise"),
        cut.trace(model, "0", memory_limit=39, only=slice(2)),
    ):
        model(x)


def test_a_block_computes_what_all_want():
    model, x = Halves(), torch.randn(4, 3)
    with cut.trace(model, "halved", only=1) as seen:
        model(x)
    assert model.computed == 3
    assert torch.equal(seen["halved"], x[1] / 2)
    with cut.trace(model, "halved", only=[1]) as one, cut.trace(model, "halved", only=torch.tensor([1])) as same:
        model(x)
    assert model.computed == 3
    assert torch.equal(one["halved"], same["halved"])
    with cut.trace(model, "halved", only=1) as one, cut.trace(model, "halved", only=2) as other:
        model(x)
    assert model.computed == 12
    assert torch.equal(one["halved"], x[1] / 2)
    assert torch.equal(other["halved"], x[2] / 2)
    with cut.trace(model, "halved", only=1) as one, cut.patch(model, {"halved": lambda h: h + 1}):
        assert torch.equal(model(x), 2 * (x / 2 + 1))
    assert torch.equal(one["halved"], x[1] / 2 + 1)


def test_nobody_looking_wants_all():
    assert Tap().wanted == ()


def test_bad_parts():
    model, x = chain(), torch.randn(4, 3)
    for only in (None, (0, ...), "0", 1.5, True):
        with pytest.raises(
            ValueError, match=r"only must be a number, slice or list of numbers for each leading axis, got"
        ):
            cut.trace(model, "0", only=only)
    for only in (4, (0, 1, 2), [0, 9]):
        with (
            pytest.raises(
                ValueError, match=r"only must index .* of every value read, got only=.* of shape \(4, 5\) at '0'"
            ),
            cut.trace(model, "0", only=only),
        ):
            model(x)
