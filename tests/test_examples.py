"""Every example runs, and the newcomer's block of examples/own_block.py goes through the battery."""

import runpy
from pathlib import Path

import battery
import pytest
from forked import run_script

from cutaway import registry

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path):
    code, printed = run_script(path, tmp_path)
    assert code == 0, printed
    assert printed


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_fits_a_screen_or_two(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80


@pytest.fixture
def newcomer():
    known = dict(registry._entries)
    runpy.run_path(str(ROOT / "examples" / "own_block.py"))
    yield registry._entries["Swish"]
    registry._entries.clear()
    registry._entries.update(known)


@pytest.mark.parametrize("check", battery.APPLIES, ids=battery.name_of)
def test_a_users_block_goes_through_the_battery(newcomer, check):
    assert battery.APPLIES[check](newcomer)
    check(newcomer)


def test_a_registered_block_is_listed_with_its_equation(newcomer):
    assert newcomer in registry.entries()
    assert "y = x σ(βx)" in newcomer.equation


def test_a_name_is_registered_once(newcomer):
    class Swish:
        """y = x."""

    with pytest.raises(ValueError, match=r"a name can be registered once, got 'Swish' for .*; pass another name="):
        registry.register(Swish, example=lambda: (Swish(),))


def test_the_battery_can_fail():
    """A block that ignores one of its parameters, and one whose tap never fires, are caught."""
    import torch
    from torch import nn

    from cutaway.inside.taps import Tap

    class Deaf(nn.Module):
        """y = x. Nobody 2020."""

        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            self.silent = Tap()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.used

    entry = registry.Entry("Deaf", Deaf, lambda: (Deaf(), torch.randn(2, 3)), None, "")
    with pytest.raises(AssertionError, match="no gradient reaches"):
        battery.check_gradients_reach_all(entry)
    with pytest.raises((AssertionError, RuntimeError), match="silent"):
        battery.check_taps_fire(entry)
