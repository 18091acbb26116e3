"""Muon: steps with all singular values near one, in batches and in parts, and torch.optim.Muon beside it."""

import copy
import json
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.training import Muon, orthogonalise

SHAPES = [(7, 7), (3, 11), (11, 3), (1, 5), (5, 1)]
needs_torch_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch.optim.Muon came with torch 2.9")


def parameters(*shapes):
    return [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]


def run(optimizer, gradients):
    """One step for each list of gradients, one gradient for each parameter (None: it has none)."""
    ours = [p for group in optimizer.param_groups for p in group["params"]]
    for step in gradients:
        optimizer.zero_grad()
        for p, g in zip(ours, step, strict=True):
            p.grad = g
        optimizer.step()
    return [p.detach().clone() for p in ours]


# The orthogonal matrix ----------------------------------------------------------------------------------------------


def quintic(x, steps=5):
    for _ in range(steps):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    return x


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_go_through_the_quintic(shape, float64):
    """U and V stay: X = U S Vᵀ becomes U q(S / ‖S‖) Vᵀ, so the direction is that of U Vᵀ."""
    X = torch.randn(shape)
    U, S, Vh = torch.linalg.svd(X, full_matrices=False)
    torch.testing.assert_close(orthogonalise(X), U @ torch.diag(quintic(S / S.norm())) @ Vh)


def test_the_quintic_takes_all_that_counts_near_one(float64):
    """The numbers that `orthogonalise` promises, over all singular values that there can be; q'(0) = 3.4445⁵."""
    x = torch.logspace(-5, 0, 200_001)
    y = quintic(x)
    assert y[x >= 1 / 500].min() > 0.68
    assert y.max() < 1.21
    torch.testing.assert_close(y[x < 1e-4], 3.4445**5 * x[x < 1e-4], rtol=0.01, atol=0)
    assert round(3.4445**5) == 485


@given(rows=st.integers(1, 9), columns=st.integers(1, 9), seed=st.integers(0, 99), size=st.floats(1e-4, 1e4))
@settings(max_examples=30)
def test_near_the_orthogonal_matrix_whatever_the_size(rows, columns, seed, size):
    draw = torch.Generator().manual_seed(seed)
    X = torch.randn(rows, columns, generator=draw, dtype=torch.float64)
    O = orthogonalise(size * X)
    torch.testing.assert_close(O, orthogonalise(X))
    values = torch.linalg.svdvals(X)
    if values.min() > values.norm() / 500:
        assert torch.linalg.svdvals(O).sub(1).abs().max() < 0.33
    U, _, Vh = torch.linalg.svd(X, full_matrices=False)
    assert (O * (U @ Vh)).sum() > 0.8 * O.norm() * len(values) ** 0.5  # the cosine of their angle


def test_a_matrix_of_zeros_stays():
    assert torch.equal(orthogonalise(torch.zeros(2, 3, 5)), torch.zeros(2, 3, 5))


def test_batched_is_one_by_one():
    X = torch.randn(2, 3, 5, 4)
    O = orthogonalise(X)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(O[i, j], orthogonalise(X[i, j]))


def test_tall_is_wide_turned(float64):
    X = torch.randn(3, 11)
    torch.testing.assert_close(orthogonalise(X.mT), orthogonalise(X).mT)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_types_come_back_and_half_precision_is_computed_in_float32(dtype):
    X = torch.randn(5, 4).to(dtype)
    O = orthogonalise(X)
    assert O.dtype == dtype
    exact = orthogonalise(X.double())
    torch.testing.assert_close(O.double(), exact, rtol=0, atol={2: 1e-3, 4: 1e-5, 8: 0}[X.itemsize])


@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (32, 128), (128, 32)])
def test_a_step_moves_outputs_by_about_the_rate(inputs, outputs):
    """Why √max(1, o/i): inputs of size 1 see outputs that move by η, whatever the shape."""
    (p,) = parameters((inputs, outputs))
    before, rate = p.detach().clone(), 0.02
    run(Muon([p], lr=rate), [[torch.randn(inputs, outputs)]])
    moved = torch.randn(1000, inputs) @ (p.detach() - before)
    assert 0.8 * rate < moved.square().mean().sqrt() < 1.1 * rate


# The optimizer ------------------------------------------------------------------------------------------------------


def test_two_steps_by_hand(float64):
    """A 1 × 1 matrix moves by η q(1) against its momentum: signs −, then + (0.95 · 0.95 + … outweighs a small −1)."""
    (p,) = parameters((1, 1))
    q = quintic(torch.tensor(1.0)).item()
    start = p.item()
    (now,) = run(Muon([p], lr=0.1, weight_decay=0.5), [[torch.full((1, 1), 100.0)], [torch.full((1, 1), -1.0)]])
    first = start * (1 - 0.05) - 0.1 * q
    # v = 5, then 4.75 − 0.05 = 4.7; u = 0.95 · 4.7 − 0.05 > 0: momentum goes on
    assert now.item() == pytest.approx(first * (1 - 0.05) - 0.1 * q)


@needs_torch_muon
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_to_torch_muon_in_float64(shape, float64, monkeypatch):
    """With its bfloat16 switched off, torch.optim.Muon is ours to rounding; it takes rows for outputs: axis 0."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    (p,) = parameters(shape)
    (q,) = copy.deepcopy([p])
    gradients = [[torch.randn(shape)] for _ in range(5)]
    how = {"lr": 0.1, "weight_decay": 0.3, "momentum": 0.9}
    ours = run(Muon([{"params": [p], "axis": 0}], **how), gradients)
    torch.testing.assert_close(ours, run(torch.optim.Muon([q], **how), gradients))


IN_BFLOAT16 = """
import torch
torch.manual_seed(0)
p = torch.nn.Parameter(torch.zeros(6, 4))
optimizer = torch.optim.Muon([p], lr=1.0, weight_decay=0.0)
p.grad = torch.randn(6, 4)
optimizer.step()
print(p.tolist())
"""


@needs_torch_muon
def test_near_torch_muon_as_it_is():
    """In a process of its own: its bfloat16 is an illegal instruction on some machines."""
    done = subprocess.run([sys.executable, "-c", IN_BFLOAT16], capture_output=True, text=True, check=False)
    if done.returncode < 0:
        pytest.skip(f"torch.optim.Muon ended by signal {-done.returncode}: no bfloat16 here")
    torch.manual_seed(0)
    p = torch.nn.Parameter(torch.zeros(6, 4))
    (ours,) = run(Muon([{"params": [p], "axis": 0}], lr=1.0), [[torch.randn(6, 4)]])
    torch.testing.assert_close(ours, torch.tensor(json.loads(done.stdout)), rtol=0, atol=0.05)


def test_alike_and_not_alike_in_one_group_is_each_alone(float64):
    shapes = [(4, 6), (6, 4), (4, 6), (5, 5), (1, 3)]
    together = parameters(*shapes)
    alone = copy.deepcopy(together)
    gradients = [[torch.randn(shape) for shape in shapes] for _ in range(3)]
    ours = run(Muon(together, lr=0.1), gradients)
    for i, p in enumerate(alone):
        torch.testing.assert_close(ours[i], run(Muon([p], lr=0.1), [[step[i]] for step in gradients])[0])


@pytest.mark.parametrize(("parts", "sizes"), [(3, (4, 4, 4)), ((6, 3, 3), (6, 3, 3)), ([1, 11], (1, 11)), (1, (12,))])
@pytest.mark.parametrize("axis", [0, -1])
def test_parts_are_matrices_of_their_own(parts, sizes, axis, float64):
    """Fused queries, keys and values step as three matrices would: each by its own o/i too."""
    (fused,) = parameters((12, 5) if axis == 0 else (5, 12))
    pieces = [torch.nn.Parameter(piece.detach().clone()) for piece in fused.split(sizes, axis)]
    gradients = [torch.randn_like(fused) for _ in range(3)]
    (ours,) = run(Muon([{"params": [fused], "parts": parts, "axis": axis}], lr=0.1), [[g] for g in gradients])
    apart = run(Muon([{"params": pieces, "axis": axis}], lr=0.1), [g.split(sizes, axis) for g in gradients])
    torch.testing.assert_close(ours, torch.cat(apart, axis))


def test_the_axis_says_which_side_the_outputs_are(float64):
    (p,) = parameters((4, 12))
    q = torch.nn.Parameter(p.detach().T.clone())
    g = torch.randn(4, 12)
    (ours,) = run(Muon([p]), [[g]])
    (turned,) = run(Muon([{"params": [q], "axis": 0}]), [[g.T]])
    torch.testing.assert_close(ours, turned.T)


def test_a_parameter_without_gradient_stays_as_it_is():
    used, unused = parameters((3, 4), (3, 4))
    before = unused.detach().clone()
    optimizer = Muon([used, unused], weight_decay=0.1)
    run(optimizer, [[torch.randn(3, 4), None]])
    assert torch.equal(unused, before)
    assert unused not in optimizer.state
    Muon([unused]).step()  # none at all has a gradient
    assert torch.equal(unused, before)


def test_no_gradient_at_all_leaves_decay_alone(float64):
    (p,) = parameters((3, 4))
    before = p.detach().clone()
    run(Muon([p], lr=0.1, weight_decay=0.5), [[torch.zeros(3, 4)]])
    torch.testing.assert_close(p.detach(), 0.95 * before)


def test_state_round_trip():
    """Through JSON and tensors, as a checkpoint keeps it: the next steps are the same bit for bit."""
    one = parameters((3, 6), (4, 4))
    groups = lambda ps: [{"params": [ps[0]], "parts": (3, 2, 1)}, {"params": [ps[1]], "axis": 0}]
    optimizer = Muon(groups(one), lr=0.1)
    draw = lambda: [torch.randn(3, 6), torch.randn(4, 4)]
    run(optimizer, [draw(), draw()])
    optimizer.param_groups[0]["full_lr"] = 0.7
    state = copy.deepcopy(optimizer.state_dict())  # torch shares tensors between them else
    other = copy.deepcopy(one)
    restored = Muon(groups(other), lr=0.3)
    restored.load_state_dict({"state": state["state"], "param_groups": json.loads(json.dumps(state["param_groups"]))})
    assert [group["lr"] for group in restored.param_groups] == [0.1, 0.1]
    assert restored.param_groups[0]["full_lr"] == 0.7
    gradients = [draw(), draw()]
    for a, b in zip(run(optimizer, gradients), run(restored, gradients), strict=True):
        assert torch.equal(a, b)


@needs_torch_muon
def test_its_state_is_torchs(float64, monkeypatch):
    """A run of torch.optim.Muon can be taken up: the momentum has its name and its meaning."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    (p,) = parameters((4, 6))
    theirs = torch.optim.Muon([p], lr=0.1, weight_decay=0.0)
    run(theirs, [[torch.randn(4, 6)]])
    (q,) = copy.deepcopy([p])
    ours = Muon([{"params": [q], "axis": 0}], lr=0.1)
    groups = ours.state_dict()["param_groups"]
    ours.load_state_dict({"state": copy.deepcopy(theirs.state_dict()["state"]), "param_groups": groups})
    g = torch.randn(4, 6)
    torch.testing.assert_close(run(ours, [[g]]), run(theirs, [[g]]))


def test_it_is_an_optimizer_like_others():
    (p,) = parameters((3, 4))
    optimizer = Muon([p], lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    loss = optimizer.step(lambda: _backward(p))
    assert loss.item() == pytest.approx(p.numel())
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.add_param_group({"params": parameters((2, 6)), "parts": 2})
    assert [group["parts"] for group in optimizer.param_groups] == [1, 2]


def _backward(p):
    (p - p.detach()).sum().backward()
    return torch.tensor(float(p.numel()))


def test_what_it_does_not_take():
    vector, matrix = parameters((3,), (5, 7))
    with pytest.raises(ValueError, match=r"Muon takes matrices whose outputs fall into parts=1, got shape \(3,\)"):
        Muon([vector])
    for parts, shown in ((3, "3"), (0, "0"), ((4, 4), r"\(4, 4\)"), ((8, -1), r"\(8, -1\)")):
        with pytest.raises(
            ValueError, match=rf"parts={shown}, got shape \(5, 7\) with outputs along axis -1; give other"
        ):
            Muon([{"params": [matrix], "parts": parts}])
    optimizer = Muon([matrix])
    with pytest.raises(ValueError, match=r"got shape \(3,\)"):
        optimizer.add_param_group({"params": [vector]})
    assert len(optimizer.param_groups) == 1
    with pytest.raises(ValueError, match="lr must be above 0, got 0"):
        Muon([matrix], lr=0)
    with pytest.raises(ValueError, match="steps must be above 0, got 0"):
        Muon([matrix], steps=0)
    with pytest.raises(ValueError, match=r"momentum must be from 0 to below 1, got 1.0; try momentum=0.95"):
        Muon([matrix], momentum=1.0)
    with pytest.raises(ValueError, match=r"weight_decay must be 0 or above, got -0.1; try weight_decay=0.1"):
        Muon([matrix], weight_decay=-0.1)


@pytest.mark.untyped
def test_a_vector_cannot_be_made_orthogonal():
    with pytest.raises(ValueError, match=r"only matrices can be made orthogonal, got shape \(3,\); normalise a vector"):
        orthogonalise(torch.ones(3))


@pytest.mark.untyped
def test_compiles():
    X = torch.randn(2, 5, 3)
    compiled = torch.compile(orthogonalise, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X), orthogonalise(X))
