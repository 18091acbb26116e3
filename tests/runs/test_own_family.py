"""A family that Cutaway has never heard of: its model, recipe and view join by declaring what they are, nothing else.

It goes the whole way: train, load, test, look at the command line, look at an address, report.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import cutaway as cut
from cutaway import registry
from cutaway.cli import run as command
from cutaway.data.batches import Batches
from cutaway.inside.taps import Tap
from cutaway.look import Picture, heatmap
from cutaway.models import Model, NamedSpec
from cutaway.recipes import Recipe, Subject, index
from cutaway.training.jobs import Job
from cutaway.training.optimizers.groups import hidden_matrices


@dataclass(frozen=True)
class EchoSpec(NamedSpec):
    """A recurrent network that repeats what it has heard."""

    model: ClassVar[str] = "Echo"
    inputs: int = 3
    width: int = 8


class Loud(nn.Module):
    """Two maps in one matrix: what a step adds, and how much of it."""

    fused_parts = {"both": 2}

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.both = cut.blocks.Linear(inputs + width, 2 * width)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        new, gate = self.both(torch.cat([x, h], -1)).chunk(2, -1)
        return torch.lerp(h, torch.tanh(new), torch.sigmoid(gate))


class Echo(Model):
    """Reads a series step by step and looks back over what it has heard."""

    kind: ClassVar[type[NamedSpec]] = EchoSpec
    attention_weights = {"back": ("tokens", "tokens")}
    output_layers = ("say",)

    def __init__(self, spec: EchoSpec) -> None:
        super().__init__(spec)
        self.cell = Loud(spec.inputs, spec.width)
        self.say = cut.blocks.Linear(spec.width, spec.inputs)
        self.rest = cut.blocks.Linear(spec.width, spec.width)
        self.back = Tap()

    def forward(self, x: Tensor) -> Tensor:
        h, heard = x.new_zeros(len(x), self.spec.width), []
        for step in x.unbind(1):
            h = self.cell(step, h)
            heard.append(h)
        H = self.rest(torch.stack(heard, 1))
        later = torch.ones(H.shape[1], H.shape[1], dtype=torch.bool).triu(1)
        a = self.back((H @ H.mT).masked_fill(later, -torch.inf).softmax(-1)[:, None])
        return self.say(a[:, 0] @ H)


class Waves(Batches[Tensor]):
    """Noisy waves, (batch, steps, 3)."""

    def at(self, step: int) -> Tensor:
        random = np.random.default_rng([self.seed, step])
        phase = torch.from_numpy(random.uniform(0, 6, (self.batch, 1, 3))).float()
        return torch.sin(torch.arange(9.0)[None, :, None] + phase)


def next_step_cost(model: nn.Module, x: Tensor) -> Tensor:
    return (model(x)[:, :-1] - x[:, 1:]).square().mean()


@dataclass(frozen=True)
class EchoRecipe(Recipe):
    """Trains an echo on waves."""

    name: ClassVar[str] = "echo"
    data: str = "waves"

    def job(self, rank: int = 0, world: int = 1) -> Job:
        torch.manual_seed(self.seed)
        return Job(
            model=Echo(EchoSpec()),
            batches=Waves(self.batch, self.seed, rank, world),
            objective=next_step_cost,
            evaluate=lambda model: {"loss": next_step_cost(model, Waves(4, 1, 0, 1).at(0)).item()},
        )

    def test_metrics(self, run: Any) -> dict[str, float]:
        return {"loss": next_step_cost(run.model, Waves(4, 2, 0, 1).at(0)).item()}

    def subject(self, run: Any, given: str | None = None) -> Subject:
        count = int(given or 7)
        return Subject((Waves(1, 3, 0, 1).at(0)[:, :count],), f"{count} steps of a wave", tuple("abcdefghi"[:count]))


def heard(run: Any, subject: Subject) -> Picture:
    """What the echo says to a wave."""
    return heatmap(subject.output(run.model)[0], title="What the echo says")


@pytest.fixture
def _joined() -> Iterator[None]:
    registry.views()  # ours are there already
    known, own = dict(registry._views), dict(index._own)
    cut.register(EchoRecipe)
    cut.register(heard, suits="echo", section="Echoes", report=True)
    yield
    for kept, before in ((registry._views, known), (index._own, own)):
        kept.clear()
        kept.update(before)


@pytest.mark.usefixtures("_joined")
def test_a_family_of_ones_own_goes_the_whole_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "echo"
    settings = dict(steps=4, evaluate_every=2, checkpoint_every=2, batch=4, optimizer="muon", flow_every=2)
    run = cut.train("echo", out=out, show="quiet", **settings)

    again = cut.load(out)
    assert type(again.model) is Echo  # by its spec: the recipe defines no open_model
    for name, weight in run.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], weight)
    assert again.test() == run.recipe.test_metrics(run)

    report = (out / "report.html").read_text(encoding="utf-8")
    assert "What the echo says" in report
    assert "What goes in: 7 steps of a wave." in report
    assert "Attention of every head, over 7 tokens" in report

    assert command(["look", str(out), "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["pictures"]
    views = {picture["view"] for picture in found}
    assert {"heard", "attention", "heads", "losses", "gradient_flow", "weights", "graph"} <= views
    assert command(["look", str(out), "5", "--at", "back", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pictures"][0]["title"] == "back"

    assert command(["list", "recipes"]) == 0
    assert "echo" in capsys.readouterr().out


def test_its_matrices_are_in_the_groups_that_it_declares():
    model = Echo(EchoSpec())
    names = {id(p): name for name, p in model.named_parameters()}
    found = {names[id(p)]: group["parts"] for group in hidden_matrices(model) for p in group["params"]}
    assert found == {"cell.both.weight": 2, "rest.weight": 1}  # the output layer is left to AdamW, though not the last
