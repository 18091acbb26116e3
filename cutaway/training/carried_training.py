r"""Training with a state that is carried from batch to batch: truncated backpropagation through time.

    logits, s_n = model(x_n, s_{n−1})         s_{n−1} is a constant: gradients stay inside a batch
    cost = −mean log p(x_{t+1} | …)

The states of all rows are part of a checkpoint, so that a resumed run goes on as if it had never stopped.

Scheduled sampling: while the model learns from true texts alone (teacher forcing), it never meets its own mistakes. So
a share of the inputs, growing over the run, is replaced by what the model itself would have written there:

    x̃_t = x_t  with probability 1 − ε,  else  x̃_t ~ p(· | x̃_1 … x̃_{t−1})        targets stay the true x_{t+1}

Gradients do not flow through the draws. Williams, Peng 1990; Bengio et al. 2015. Notes: N3 §5.4.5.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cutaway.data.text.continued_windows import ContinuedWindow
from cutaway.models.generation.next_token import evaluating
from cutaway.models.recurrent.carried_state import CarriedState
from cutaway.overriding import override
from cutaway.training.callbacks import Callback

if TYPE_CHECKING:
    from cutaway.training.loop import Loop


class CarriedTraining(Callback):
    """The objective of a recurrent language model whose rows go on from batch to batch; also keeps their states.

    ``sampled`` is the share of inputs that the model writes itself at the end of ``batches`` batches; it grows from 0.
    """

    def __init__(self, model: Any, batches: int, sampled: float = 0.0) -> None:
        self.model, self.batches, self.sampled = model, batches, sampled
        self.past, self.present = CarriedState(), CarriedState()
        self.number = -1  # of the batch between the two
        self.loop: Loop | None = None

    @override
    def start(self, loop: "Loop") -> None:
        self.loop = loop

    def __call__(self, model: nn.Module, batch: ContinuedWindow) -> Tensor:
        """Mean of −log p(x_{t+1} | x_1 … x_t, what came before) over the batch, in nats."""
        device = next(model.parameters()).device
        tokens, targets, fresh = (torch.from_numpy(x).to(device) for x in batch[:3])
        if batch.number != self.number:  # the same batch again, as where a failure is looked into, has the same past
            self.past, self.number = self.present, batch.number
        state = CarriedState(self.past.value)
        state.reset(fresh)
        if share := self.sampled * min(1.0, batch.number / self.batches):
            tokens = mix_inputs(self.model, tokens, CarriedState(state.value), share)
        logits = model(tokens, state=state)
        state.detach()
        self.present = state
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    @override
    def state(self) -> dict[str, Any]:
        return {"number": self.number}

    @override
    def tensors(self) -> dict[str, Tensor]:
        parts = self.present.parts()
        if self.loop is not None and self.loop.processes.world > 1:  # the rows of all processes, one after another
            every = self.loop.processes.gather({name: part.cpu() for name, part in parts.items()})
            parts = {name: torch.cat([one[name] for one in every]) for name in parts}
        return {name: part.contiguous() for name, part in parts.items()}

    @override
    def restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.number = state["number"]
        if tensors:
            assert self.loop is not None
            processes, device = self.loop.processes, self.loop.device
            mine = {name: part.chunk(processes.world)[processes.rank].to(device) for name, part in tensors.items()}
            self.present = self.model.as_state(mine)


@torch.no_grad()
def mix_inputs(model: Any, tokens: Tensor, state: CarriedState, share: float) -> Tensor:
    """The inputs with a share of them, never the first, replaced by draws of the model, which sees those before."""
    replaced = torch.rand(tokens.shape, device=tokens.device) < share
    replaced[:, 0] = False
    last = int(replaced.any(0).nonzero().max()) if bool(replaced.any()) else 0
    mixed = tokens.clone()
    with evaluating(model):
        for t in range(last):
            p = model(mixed[:, t : t + 1], state=state)[:, -1].float().softmax(-1)
            if bool(replaced[:, t + 1].any()):
                drawn = torch.multinomial(p, 1).squeeze(-1)
                mixed[:, t + 1] = torch.where(replaced[:, t + 1], drawn, mixed[:, t + 1])
    return mixed


__all__ = ["CarriedTraining", "mix_inputs"]
