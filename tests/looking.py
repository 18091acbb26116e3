"""Small models for the tests of taps, traces and patches, and a check that a watch left nothing behind."""

import torch
from torch import Tensor, nn

from cutaway.inside import hooks
from cutaway.inside.taps import Tap, open_watches, replayed_watches


class ThreeSum(nn.Module):
    """y = a + b + c, with a tap at the partial sum a + c that only the written-out path computes.

    In float32, for x = (1e8, 1, −1e8): fused, (a + b) + c = 0; written out, (a + c) + b = 1. So the output tells which
    path ran.
    """

    def __init__(self) -> None:
        super().__init__()
        self.partial = Tap()

    def forward(self, x: Tensor) -> Tensor:
        a, b, c = x.unbind(-1)
        if self.partial.edited:
            return self.partial(a + c) + b
        if self.partial.live:
            self.partial(a + c)  # beside the fused output
        return (a + b) + c


FUSED, WRITTEN_OUT = torch.tensor(0.0), torch.tensor(1.0)
TELLING = torch.tensor([1e8, 1.0, -1e8])


class Layers(nn.Module):
    """c(tanh(b(tanh(a(x))))), with room for a checkpoint around it."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def compute(self, x: Tensor) -> Tensor:
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(x)


def chain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def assert_nothing_left(model: nn.Module) -> None:
    """No hook, no count, no open watch, no stance."""
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
        if isinstance(module, Tap):
            assert (module.readers, module.editors) == (0, 0)
    assert open_watches.get() == ()
    assert replayed_watches.get() is None
    assert (hooks._open, hooks._stance) == (0, None)
    assert not hooks._hooks
    assert torch._dynamo.eval_frame._stance.stance == "default"
