r"""Stand-ins for functions that read the same entries, but linearly and with positive weights.

    y_i = f(x_j, j ∈ N(i))     stands in as     ŷ_i = mean of x_j over N(i)

A network of stand-ins has a derivative that cannot cancel: ∂ŷ/∂x is positive exactly where the network's y reads x,
through any depth, skips, branches and concatenations. ReLU becomes the identity, a convolution one of equal weights,
the maximum of a window its mean, softmax and norms a mean over their axes, products and quotients a sum. What only
moves entries (views, padding, joins, shuffles) is left as it is, and so is a function that has no stand-in here: it is
linear, or its true derivative at this input is taken. Multiplying by zero counts as reading.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

F = nn.functional
Rule = Callable[..., Any]


class StandIns(TorchFunctionMode):
    """While it is open, torch's functions are replaced by stand-ins that read the same entries."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        rule = RULES.get(function)
        options = options or {}
        return function(*args, **options) if rule is None else rule(function, *args, **options)


def _same(function: Rule, x: Any, *args: Any, **options: Any) -> Any:
    """Entry by entry: y_i reads x_i alone."""
    return x.view_as(x) if isinstance(x, Tensor) and x.is_floating_point() else function(x, *args, **options)


def _together(function: Rule, *args: Any, **options: Any) -> Any:
    """Entry by entry from several: y_i reads the i-th entry of each, after broadcasting."""
    parts = [x for x in (*args, *options.values()) if isinstance(x, Tensor)]
    floats = [x for x in torch.broadcast_tensors(*parts) if x.is_floating_point()]
    if not floats:
        return function(*args, **options)
    return sum(floats[1:], floats[0].clone())


def _in_place(function: Rule, x: Tensor, *args: Any, **options: Any) -> Tensor:
    """As `_together`, into the first."""
    for other in args:
        if isinstance(other, Tensor) and other.is_floating_point():
            x.add_(other.to(x.dtype))
    return x


def _over_axes(function: Rule, x: Any, *args: Any, **options: Any) -> Any:
    """A reduction over axes: y reads all entries along them."""
    real = function(x.detach(), *args, **options)
    dim, keep = options.get("dim", options.get("axis")), options.get("keepdim", False)
    if args and not isinstance(args[0], (Tensor, bool)):
        dim = args[0]
    if isinstance(dim, Tensor) or (args and isinstance(args[0], Tensor)):  # torch.maximum by another name
        return _together(function, x, *args)
    keep = next((value for value in args[1:] if isinstance(value, bool)), keep)
    y = x.mean() if dim is None else x.mean(dim, keepdim=keep)
    if isinstance(real, tuple):
        return type(real)([y, *real[1:]])
    return y


def _spread_over(x: Tensor, axes: Iterable[int]) -> Tensor:
    """Every entry along these axes reads all of them."""
    return x.mean(tuple(axes), keepdim=True).expand_as(x)


def _softmax(function: Rule, x: Tensor, dim: int | None = None, *args: Any, **options: Any) -> Tensor:
    return _spread_over(x, (-1 if dim is None else dim,))


def _last_axes(function: Rule, x: Tensor, shape: Any, *args: Any, **options: Any) -> Tensor:
    count = 1 if isinstance(shape, int) else len(shape)
    return _spread_over(x, range(-count, 0))


def _group_norm(function: Rule, x: Tensor, groups: int, *args: Any, **options: Any) -> Tensor:
    parts = x.unflatten(1, (groups, -1))
    return _spread_over(parts, range(2, parts.ndim)).flatten(1, 2)


def _instance_norm(function: Rule, x: Tensor, *args: Any, **options: Any) -> Tensor:
    return _spread_over(x, range(2, x.ndim))


def _batch_norm(function: Rule, x: Tensor, *args: Any, **options: Any) -> Tensor:
    training = options.get("training", args[4] if len(args) > 4 else False)
    return _spread_over(x, [axis for axis in range(x.ndim) if axis != 1]) if training else x.view_as(x)


def _normalise(function: Rule, x: Tensor, p: float = 2.0, dim: int = 1, *args: Any, **options: Any) -> Tensor:
    return _spread_over(x, (dim,))


def _convolution(function: Rule, x: Tensor, weight: Tensor, bias: Any = None, *args: Any, **options: Any) -> Tensor:
    options.pop("bias", None)
    return function(x, torch.full_like(weight, 1 / weight[0].numel(), dtype=x.dtype), None, *args, **options)


def _linear(function: Rule, x: Tensor, weight: Tensor, *args: Any, **options: Any) -> Tensor:
    return x.mean(-1, keepdim=True).expand(*x.shape[:-1], weight.shape[0])


def _product(function: Rule, a: Tensor, b: Tensor, *args: Any, **options: Any) -> Tensor:
    """A matrix product reads a whole row of one and a whole column of the other."""
    kind = torch.promote_types(a.dtype, b.dtype)
    ones = [torch.full_like(x, 1 / a.shape[-1], dtype=kind) for x in (a, b)]
    return function(a.to(kind), ones[1]) + function(ones[0], b.to(kind))


def _turned_product(function: Rule, b: Tensor, a: Tensor) -> Tensor:
    return _product(torch.matmul, a, b)


def _plus_product(function: Rule, c: Tensor, a: Tensor, b: Tensor, **options: Any) -> Tensor:
    return c + _product(torch.matmul, a, b)


def _einsum(function: Rule, pattern: str, *operands: Any) -> Tensor:
    parts = list(operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands)
    total: Any = 0
    for i, x in enumerate(parts):
        others = [x.double() if i == j else torch.ones_like(y, dtype=torch.float64) for j, y in enumerate(parts)]
        total = total + function(pattern, *others)
    return total


def _max_pool(axes: int) -> Rule:
    mean = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[axes - 1]
    spread = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]

    def rule(
        function: Rule,
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        spaced = dilation not in (1, [1] * axes, (1,) * axes)
        if spaced:
            kernel = (kernel_size,) * axes if isinstance(kernel_size, int) else tuple(kernel_size)
            ones = x.new_ones(x.shape[-axes - 1], 1, *kernel)
            y = spread(x, ones, None, stride or kernel_size, padding, dilation, x.shape[-axes - 1])
        else:
            y = mean(x, kernel_size, stride or kernel_size, padding, ceil_mode)
        if not return_indices:
            return y
        return y, function(x.detach(), kernel_size, stride, padding, dilation, ceil_mode, return_indices)[1]

    return rule


def _adaptive(axes: int) -> Rule:
    mean = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[axes - 1]
    return lambda function, x, size, *args, **options: mean(x, size)


def _attention(
    function: Rule,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Tensor:
    """A query reads itself, and the keys and values that it may see."""
    seen = q.new_ones(q.shape[-2], k.shape[-2])
    if is_causal:
        seen = seen.tril()
    if attn_mask is not None:
        allowed = attn_mask if attn_mask.dtype == torch.bool else attn_mask > -torch.inf
        seen = seen * allowed.to(seen.dtype)
    if options.get("enable_gqa"):
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    weights = seen / seen.sum(-1, keepdim=True).clamp(min=1)
    return q.mean(-1, keepdim=True) + weights @ (v + k.mean(-1, keepdim=True))


_ENTRY_BY_ENTRY = """relu relu6 gelu silu mish sigmoid tanh hardtanh hardswish hardsigmoid softplus softsign elu selu
celu leaky_relu logsigmoid tanhshrink softshrink hardshrink exp expm1 exp2 log log1p log2 log10 sqrt rsqrt abs absolute
neg negative square reciprocal erf erfc sin cos tan arcsin arctan atan asin acos sinh cosh asinh sign clamp clip
clamp_min clamp_max dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout floor ceil round frac
nan_to_num masked_fill logit sinc threshold rrelu"""
_TOGETHER = """add sub subtract mul multiply div divide true_divide maximum minimum fmax fmin pow float_power atan2
where lerp addcmul addcdiv prelu hypot fmod remainder rsub __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__
__truediv__ __rtruediv__ __rdiv__ __div__ __pow__ __rpow__"""
_IN_PLACE = """relu_ add_ sub_ mul_ div_ true_divide_ sigmoid_ tanh_ clamp_ clamp_min_ clamp_max_ exp_ neg_ sqrt_
leaky_relu_ elu_ square_ pow_ abs_ masked_fill_ dropout_ __iadd__ __isub__ __imul__ __itruediv__ __idiv__ __ipow__
addcmul_"""
_REDUCED = "max min amax amin median nanmedian logsumexp std var prod norm aminmax mode"


def _table() -> dict[Any, Rule]:
    """Every function by the names that it has in torch, on tensors and in torch.nn.functional."""
    rules: dict[str, Rule] = {}
    families: list[tuple[str, Rule]] = [
        (_ENTRY_BY_ENTRY, _same),
        (_TOGETHER, _together),
        (_IN_PLACE, _in_place),
        (_REDUCED, _over_axes),
        ("softmax log_softmax softmin", _softmax),
        ("layer_norm rms_norm", _last_axes),
        ("group_norm", _group_norm),
        ("instance_norm", _instance_norm),
        ("batch_norm", _batch_norm),
        ("normalize", _normalise),
        ("linear", _linear),
        ("matmul mm bmm mv dot inner __matmul__", _product),
        ("__rmatmul__", _turned_product),
        ("addmm baddbmm addmv", _plus_product),
        ("einsum", _einsum),
        ("cumprod", lambda function, x, dim, **options: x.cumsum(dim)),
        ("scaled_dot_product_attention", _attention),
        ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", _convolution),
        *((f"max_pool{axes}d max_pool{axes}d_with_indices", _max_pool(axes)) for axes in (1, 2, 3)),
        *((f"adaptive_max_pool{axes}d", _adaptive(axes)) for axes in (1, 2, 3)),
    ]
    for names, rule in families:
        rules |= dict.fromkeys(names.split(), rule)
    found = {}
    for name, rule in rules.items():
        for place in (torch, Tensor, F):
            function = inspect.getattr_static(place, name, None)
            for known in (function, getattr(place, name, None)):
                if callable(known):
                    found[known] = rule
    return found


RULES = _table()

__all__ = ["RULES", "StandIns"]
