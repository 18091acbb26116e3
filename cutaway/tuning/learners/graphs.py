r"""Classes or values of whole graphs by a trained model of graphs: one vector of a graph is read out of it, and scored.

    z = [readout(x_1), …, readout(x_depth)]        x_s: the states of the vertices after stage s of the base
    outputs = norm(z) W + b                         the new head

With --head-only the body computes its features once; else the new head is fitted to them before the body learns too.
"""

from typing import Any

from torch import Tensor, nn

from cutaway.data.batches import Batches, ShuffledRows
from cutaway.overriding import override
from cutaway.tasks.graphs.graph_networks import GraphNetwork, batch_of
from cutaway.tuning.comparison import Answers
from cutaway.tuning.graph_comparison import graph_answers
from cutaway.tuning.graph_features import (
    GraphFeatureRows,
    feature_loss,
    feature_outcomes,
    fit_graph_head,
    measure_head,
)
from cutaway.tuning.learner import TunedLearner
from cutaway.tuning.settings import features_in_words

_COMPARED = 64  # graphs whose states are compared with those of the base


class TunedGraphNetwork(TunedLearner, GraphNetwork):
    """A model of graphs with a new head."""

    @override
    def fit_first(self) -> None:
        settings, held = self.settings, self.task.parts.validation
        self.features = GraphFeatureRows(self.model, self.task.parts.train)
        measure_head(self.model, self.features)
        self.held = GraphFeatureRows(self.model, held) if settings.head_only and held is not None else None
        if not settings.head_only:
            fit_graph_head(self.model, self.features, self.task.scale, settings.seed)

    @override
    def batches(self, rank: int, world: int) -> Batches[Any]:
        if not self.settings.head_only:
            return super().batches(rank, world)
        return ShuffledRows(len(self.task.parts.train), self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        if not self.settings.head_only:
            return super().cost(model, batch)
        return feature_loss(model, batch, self.features, self.task.scale)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.held is None:
            return super().evaluate(model)
        return feature_outcomes(model, self.held, self.task.scale)

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        if self.settings.head_only:
            facts["summary"] += f"\n{features_in_words([self.features, self.held], self.settings.features_memory)}"
        return facts

    # Beside the base.

    @override
    def held_out_inputs(self) -> list[tuple[Any, ...]]:
        held = self.task.parts.validation
        if held is None:
            return []
        return [(batch_of(self.model, held.take(range(min(len(held), _COMPARED))).graphs),)]

    @override
    def answers_before_and_after(self, base: Any) -> Answers | None:
        return graph_answers(base, self.model, self.task.parts)
