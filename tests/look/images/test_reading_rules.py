"""What operations read, beside brute force: inputs are changed one by one, at many points, to see what changes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn

from cutaway.look.images.dependency_tracing import DependencyTrace

F = nn.functional
ROWS, COLUMNS = 4, 6


def read(function: Callable[[Tensor], Any], x: Tensor) -> tuple[Tensor, tuple[str, ...]]:
    """Which outputs read which inputs, (outputs, inputs), and what is not known."""
    with torch.no_grad(), DependencyTrace(x) as trace:
        y = _one(function(x.clone()))
    found, unknown = [], ()
    for i in range(y.numel()):
        wanted = torch.zeros(y.numel(), dtype=torch.bool)
        wanted[i] = True
        entries, unknown = trace.read_for(y, wanted.view(y.shape))
        found.append(entries.flatten())
    return torch.stack(found), unknown


def changed(function: Callable[[Tensor], Any], points: int = 150) -> Tensor:
    """Which outputs change with which inputs at some point: a lower bound of what is read, which many points fill."""
    generator = torch.Generator().manual_seed(0)
    found: Any = 0
    for _ in range(points):
        shift = int(torch.randint(-2, 3, (), generator=generator))  # also where most of them are large, or small
        x = 2 * torch.randn(ROWS, COLUMNS, dtype=torch.float64, generator=generator) + shift
        y = _one(function(x.clone()))
        now = []
        for j in range(x.numel()):
            other = x.clone()
            other.view(-1)[j] += 4 * torch.randn((), dtype=torch.float64, generator=generator)
            z = _one(function(other))
            now.append((z != y).flatten())
        found = found | torch.stack(now, 1)
    return found


def _one(value: Any) -> Tensor:
    """Everything that a function returns, in one row; complex numbers as two."""
    parts = [x for x in pytree.tree_leaves(value) if isinstance(x, Tensor)]
    parts = [torch.view_as_real(x) if x.is_complex() else x for x in parts]
    return torch.cat([x.flatten().double() for x in parts])


def in_place(x: Tensor) -> Tensor:
    x[:, 0] = x[:, 1] * 2
    x.relu_().add_(x.flip(0))
    x[1].zero_()
    x.T[2].copy_(x[0, :ROWS].clone())
    return x


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return 2 * x.roll(1, 0)

    @staticmethod
    def backward(context: Any, slope: Tensor) -> Tensor:
        return 0 * slope


INDEX = torch.tensor([[3, 0, 1, 1, 2, 0]])
MASK = torch.tensor([True, False, True, True, False, True])
EXACT: dict[str, Callable[[Tensor], Any]] = {
    "relu of what may be dead": lambda x: F.relu(x - 3),
    "gelu": F.gelu,
    "sign": torch.sign,
    "round": torch.round,
    "floor": lambda x: x.floor(),
    "clamp": lambda x: x.clamp(-1, 1),
    "to integers": lambda x: x.long(),
    "detached": lambda x: x.detach() * 2,
    "comparison": lambda x: x > x.flip(0),
    "where, compared": lambda x: torch.where(x > x.roll(1, 1), x, torch.zeros_like(x)),
    "where, a mask of its own": lambda x: torch.where(MASK, x, x.flip(0)),
    "masked_fill, compared": lambda x: torch.zeros_like(x).masked_fill(x.roll(1, 0) > 0, 1.0),
    "masked_fill, a mask of its own": lambda x: x.masked_fill(MASK, 7.0),
    "product": lambda x: x * x.flip(0),
    "broadcast": lambda x: x + x[:, :1] * x[:1],
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, 0),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "group norm": lambda x: F.group_norm(x[None], 2)[0],
    "instance norm": lambda x: F.instance_norm(x[None])[0],
    "batch norm in training": lambda x: F.batch_norm(x[None], None, None, training=True)[0],
    "normalise": lambda x: F.normalize(x, dim=0),
    "matrix product": lambda x: x @ x.mT,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "distances": lambda x: torch.cdist(x, x.flip(1)),
    "linear": lambda x: F.linear(x, torch.ones(3, COLUMNS, dtype=x.dtype)),
    "logsumexp": lambda x: x.logsumexp(0),
    "std": lambda x: x.std(1),
    "norm": lambda x: x.norm(dim=0),
    "any": lambda x: (x > 1).any(1),
    "sort": lambda x: x.sort(1),
    "argsort": lambda x: x.argsort(0),
    "topk": lambda x: x.topk(2, 1),
    "kthvalue": lambda x: x.kthvalue(2, 0),
    "median": lambda x: x.median(1),
    "quantile": lambda x: x.quantile(0.3, 1),
    "nanmedian": lambda x: x.nanmedian(0),
    "max": lambda x: x.max(1),
    "amax of all": lambda x: x.amax(),
    "argmax": lambda x: x.argmax(0),
    "cummax": lambda x: x.cummax(1)[0],
    "cummin": lambda x: x.cummin(0)[0],
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "gather by argmax": lambda x: x.gather(1, x.argmax(1, keepdim=True)),
    "gather by an index of its own": lambda x: x.gather(0, INDEX),
    "column by argmax": lambda x: x.index_select(1, x[0].argmax().view(1)),
    "take_along_dim": lambda x: torch.take_along_dim(x, x.argsort(1), 1),
    "rows by index": lambda x: x[torch.tensor([2, 0])],
    "entries by two indices": lambda x: x[torch.tensor([2, 0]), torch.tensor([1, 5])],
    "columns by a mask of its own": lambda x: x[:, MASK],
    "masked_select": lambda x: x.masked_select(MASK),
    "roll": lambda x: x.roll((1, 2), (0, 1)),
    "flip": lambda x: x.flip(1),
    "tril": torch.tril,
    "cat": lambda x: torch.cat([x[:, :2], x.T[:2].T * 2], 1),
    "stack": lambda x: torch.stack([x, x.flip(0)]),
    "repeat": lambda x: x.repeat(2, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "unfold": lambda x: x.unfold(1, 3, 2).sum(-1),
    "im2col": lambda x: F.unfold(x[None, None], 3, padding=1),
    "col2im": lambda x: F.fold(x.view(1, 4, 6), (3, 4), 2),
    "scatter": lambda x: torch.zeros_like(x).scatter(0, INDEX, x),
    "scatter_add": lambda x: x.scatter_add(0, INDEX, x.flip(1)),
    "index_add": lambda x: torch.zeros_like(x).index_add(0, torch.tensor([1, 1, 3, 0]), x),
    "index_put": lambda x: x.index_put((torch.tensor([1, 2]), torch.tensor([0, 5])), x[0, :2]),
    "pad": lambda x: F.pad(x, (1, 2), value=3.0),
    "reflect": lambda x: F.pad(x[None], (2, 1), "reflect"),
    "max pool": lambda x: F.max_pool2d(x[None], 2, 1, dilation=2),
    "max pool, ceil": lambda x: F.max_pool2d(x[None], 3, 2, 1, ceil_mode=True),
    "average pool": lambda x: F.avg_pool2d(x[None], 2, 2, ceil_mode=True),
    "adaptive max pool": lambda x: F.adaptive_max_pool2d(x[None], (3, 4), return_indices=True),
    "convolution": lambda x: F.conv2d(x[None, None], torch.ones(1, 1, 3, 2, dtype=x.dtype), stride=2, padding=1),
    "transposed": lambda x: F.conv_transpose1d(x[None], torch.ones(4, 2, 3, dtype=x.dtype), stride=2),
    "nearest": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "bilinear": lambda x: F.interpolate(x[None, None], size=(3, 5), mode="bilinear"),
    "pixel shuffle": lambda x: F.pixel_shuffle(x[:, None], 2),
    "Fourier": lambda x: torch.fft.rfft(x).abs(),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0], dtype=x.dtype)),
    "searchsorted": lambda x: torch.searchsorted(x.sort(1)[0], x.flip(0)),
    "histogram": lambda x: torch.histc(x, 3, -2, 2),
    "glu": lambda x: F.glu(x, 1),
    "embedding": lambda x: F.embedding(x.long().clamp(0, 4), torch.arange(10.0, dtype=x.dtype).view(5, 2)),
    "in place": in_place,
    "a function with a gradient of its own": Doubled.apply,
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "into a result": lambda x: torch.add(x, x.flip(0), out=torch.empty_like(x)),
}
# Operations that read at most what is said: inputs that could only matter by chance, or structure that is not known.
BOUNDED: dict[str, tuple[Callable[[Tensor], Any], tuple[str, ...]]] = {
    "inverse": (lambda x: torch.linalg.inv(x[:, :4] @ x[:, :4].T + torch.eye(4)), ("linalg_inv_ex",)),
    "item": (lambda x: x[0] * x[3, 5].item(), ("item",)),
    "branch": (lambda x: x[0] if x[3, 3] > 0 else x[1], ("item",)),
    "list": (lambda x: x[0] + sum(x[1].tolist()), ("tolist",)),
    "numpy": (lambda x: torch.from_numpy(x.detach().numpy()[::-1].copy()), ("numpy",)),
    "unique": (lambda x: torch.unique(x.round()).sum(), ("_unique2",)),
    "compared mask": (lambda x: x[x > 0].sum(), ("index",)),
    "nonzero": (lambda x: (x > 0).nonzero().sum(), ("nonzero",)),
    "put at argmax": (lambda x: x.index_put((x[:, 0].argmax()[None],), x[0]), ()),
    "chosen row": (lambda x: x[x[:, 0].argmax()], ("item",)),
    "one-hot": (lambda x: F.one_hot(x.argmax(1), COLUMNS), ("item",)),
    "scatter at argmax": (lambda x: torch.zeros_like(x).scatter(1, x.argmax(1, keepdim=True), 1.0), ()),
    "running argmax": (lambda x: x.cummax(1)[1], ()),
    "other half": (lambda x: x.half().mode(1)[0], ()),
}


@pytest.mark.parametrize("name", EXACT)
def test_reads_what_changes_it(name: str):
    found, unknown = read(EXACT[name], torch.randn(ROWS, COLUMNS, dtype=torch.float64))
    true = changed(EXACT[name])
    assert unknown == ()
    assert not (true & ~found).any(), "it reads more than was found"
    assert torch.equal(found, true)


@pytest.mark.parametrize("name", BOUNDED)
def test_reads_at_most(name: str):
    function, expected = BOUNDED[name]
    torch.manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, dtype=torch.float64)
    found, unknown = read(function, x)
    assert unknown == expected
    if not expected or name in ("inverse", "item", "branch", "list", "numpy"):  # others have another size each time
        assert not (changed(function) & ~found).any()
    else:
        assert found.all()


def test_attention_reads_what_it_may_see():
    q, mask = torch.randn(3, 2), torch.tensor([[True, False, True]]).expand(3, 3)
    found, _ = read(lambda k: F.scaled_dot_product_attention(q, k, k, attn_mask=mask), torch.randn(3, 2))
    found = found.view(3, 2, 3, 2)
    assert found[:, :, 0].all()
    assert not found[:, :, 1].any()
    heads, _ = read(
        lambda x: F.scaled_dot_product_attention(x, x[:1], x[:1], is_causal=True, enable_gqa=True), torch.randn(2, 3, 2)
    )
    heads = heads.view(2, 3, 2, 2, 3, 2)
    assert heads[1, 1, 0, 0, :2].any(-1).all()  # keys of the first head, up to itself
    assert not heads[1, 1, 0, 0, 2].any()
    assert not heads[0, :, :, 1].any()  # another head's queries
