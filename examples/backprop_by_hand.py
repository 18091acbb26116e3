"""Backpropagation by hand: the compute graph of small pieces of code, stepped backwards one operator at a time."""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

import cutaway as cut


def show(title: str, graph: cut.look.Graph) -> None:
    """Every operator from the output back: its rule, the δ that it got, and the share that each of its inputs gets."""
    print(f"\n{title}")
    for step in graph.steps("backward"):
        print(f"  {step.title}: {step.formula}")
        for value in step.reads:
            print(f"    δ of {value.name} is {numbers(value.delta)}")
        for edge in step.shares:
            print(f"      → {edge.value.name} gets {numbers(edge.delta)}")
    given = [value for value in graph.values if value.producer is None and value.delta is not None]
    print("  totals:", ", ".join(f"{value.name} {numbers(value.delta)}" for value in given))


def numbers(delta: Tensor) -> str:
    return str([round(x, 4) for x in delta.flatten().tolist()]) if delta.ndim else f"{delta.item():.4g}"


# The logistic function at 0: its slope is σ(0)(1 − σ(0)) = ¼, the largest that it has anywhere.
g = cut.graph(torch.sigmoid, torch.tensor(0.0)).backward()
show("σ(0)", g)
assert g.inputs[0].delta == 0.25

# A line: each factor gets the other one, the bias gets δ as it is.
w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))
with cut.record() as g:
    y = w * x + b
g.backward()
show("y = wx + b at w = 2, x = 3, b = 1", g)
assert (g.delta("x"), g.delta("w"), g.delta("b")) == (w, x, 1)

# A value that is used more than once: what its readers hand back adds up.
with cut.record() as g:
    y = x * x + 3 * x
g.backward()
show("y = x² + 3x at x = 3", g)
shares = [edge.delta for edge in g["x"].consumers]
assert g.delta("x") == sum(shares) == 2 * x + 3

# Logistic regression in two dimensions, with two examples: δ of the sums is (p − y)/N, and all else follows.
inputs, targets = torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([1.0, 0.0])
weights, bias = torch.zeros(2, requires_grad=True), torch.zeros((), requires_grad=True)
with cut.record() as g:
    p = torch.sigmoid(inputs @ weights + bias)
    loss = binary_cross_entropy(p, targets)
g.backward()
show("logistic regression, N = 2", g)
delta_sums = (p - targets) / 2
assert torch.allclose(g.delta("add"), delta_sums)
assert torch.allclose(g.delta("weights"), delta_sums @ inputs)
assert torch.allclose(g.delta("bias"), delta_sums.sum())

# And a whole model, by the same rules: the δ of every value is what autograd says.
model = cut.models.GPT(vocabulary=16, width=8, depth=2, heads=2, context=8)
tokens = torch.arange(8)[None]
g = cut.graph(lambda t: torch.nn.functional.cross_entropy(model(t)[0, :-1], t[0, 1:]), tokens).backward()
print(f"\n{g}")
assert torch.equal(g.delta("GPT.embed.weight"), torch.autograd.grad(g.output.tensor, model.embed.weight)[0])
