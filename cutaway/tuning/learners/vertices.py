r"""Labels of vertices by a trained model of graphs, under a head for the classes or values of the task.

With --head-only an encoder computes the states of all vertices once; training and evaluation both read them.

    s = represent(graph)            once, as in evaluation
    outputs = decide(s)             in every step, which trains the head alone
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.overriding import override
from cutaway.tasks.frozen_features import represent_still
from cutaway.tasks.graphs.learners.vertices import VertexNetwork, in_own_unit
from cutaway.tasks.graphs.outcomes import outcome_loss
from cutaway.tuning.comparison import Answers
from cutaway.tuning.graph_comparison import vertex_answers
from cutaway.tuning.learner import TunedLearner


class TunedVertices(TunedLearner, VertexNetwork):
    """A network of vertices that starts from a base; each step sees the whole graph."""

    neighbours = ()
    states: Float[Tensor, "n w"] | None = None  # of a frozen body, while its head is trained

    @override
    def fit_first(self) -> None:
        if self.settings.head_only and hasattr(self.model, "every_encoding"):
            self.states = represent_still(self.model, self.passes.whole(self.model))

    @override
    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        if self.states is None:
            return super().cost(model, batch)
        outputs = self._decide(model, batch)
        return outcome_loss(outputs, self.task.targets[batch].to(outputs.device), self.task.scale)

    @override
    def outputs(self, rows: Int[np.ndarray, "v"], model: nn.Module | None = None) -> Float[Tensor, "v c"]:
        if self.states is None:
            return super().outputs(rows, model)
        with torch.no_grad():
            outputs = self._decide(self.model if model is None else model, rows)
        return in_own_unit(outputs.float().cpu(), self.task.scale)

    def _decide(self, model: Any, rows: Int[np.ndarray, "v"]) -> Float[Tensor, "v c"]:
        assert self.states is not None
        return model.decide(self.states[torch.from_numpy(rows).to(self.states.device)])

    @override
    def answers_before_and_after(self, base: Any) -> Answers | None:
        """The classes of held-out vertices by the base's states, and those that the tuned model gives."""
        return vertex_answers(base, self)
