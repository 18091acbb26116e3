r"""The local rule of each common operator: what it computes, and how it passes δ back, in words and as formulas.

    y = f(x)        δ_x = J_fᵀ δ_y

x, z are inputs, y is the output, W and b weights, ⊙ is entry by entry, [·] is 1 where true, else 0. Where an input was
repeated to fit (broadcast), its δ is summed over the copies. Notes: N3 §3.2–3.3.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """How an operator works, forwards and backwards."""

    words: str
    forward: str
    backward: str


# One rule: the operator's name, its words, and below them the two formulas.
_RULES = """
add: A sum hands δ on to each of its terms.
    y = x + z
    δ_x = δ_y,  δ_z = δ_y
sub: A difference hands δ to the first term, and its negative to the second.
    y = x − z
    δ_x = δ_y,  δ_z = −δ_y
mul: Each factor gets δ times the other factor.
    y = x ⊙ z
    δ_x = δ_y ⊙ z,  δ_z = δ_y ⊙ x
div: The numerator gets δ over the denominator; the denominator what changes the quotient.
    y = x / z
    δ_x = δ_y / z,  δ_z = −δ_y ⊙ y / z
neg: The sign of δ turns.
    y = −x
    δ_x = −δ_y
reciprocal: δ is scaled by −1/x².
    y = 1 / x
    δ_x = −δ_y ⊙ y²
pow: The exponent comes down and drops by one.
    y = xⁿ
    δ_x = δ_y ⊙ n xⁿ⁻¹
square: δ is scaled by twice the input.
    y = x²
    δ_x = δ_y ⊙ 2x
sqrt: δ is halved and divided by the root.
    y = √x
    δ_x = δ_y / (2y)
rsqrt: δ is scaled by −y³/2.
    y = 1 / √x
    δ_x = −δ_y ⊙ y³ / 2
exp: δ is scaled by the output itself.
    y = eˣ
    δ_x = δ_y ⊙ y
log: δ is divided by the input.
    y = ln x
    δ_x = δ_y / x
abs: δ passes with the sign of the input.
    y = |x|
    δ_x = δ_y ⊙ sign x
sin: δ is scaled by the cosine.
    y = sin x
    δ_x = δ_y ⊙ cos x
cos: δ is scaled by the negative sine.
    y = cos x
    δ_x = −δ_y ⊙ sin x
clamp: δ passes where nothing was cut off.
    y = min(max(x, a), b)
    δ_x = δ_y ⊙ [a ≤ x ≤ b]
sigmoid: δ is scaled by the slope, at most ¼.
    y = σ(x) = 1 / (1 + e⁻ˣ)
    δ_x = δ_y ⊙ y(1 − y)
logsigmoid: δ is scaled by what is left to 1.
    y = ln σ(x)
    δ_x = δ_y ⊙ (1 − σ(x))
tanh: δ is scaled by the slope, at most 1.
    y = tanh x
    δ_x = δ_y ⊙ (1 − y²)
relu: δ passes where the input was above zero, else nothing does.
    y = max(x, 0)
    δ_x = δ_y ⊙ [x > 0]
leaky_relu: δ passes above zero, and a small share of it below.
    y = max(x, 0) + a min(x, 0)
    δ_x = δ_y ⊙ ([x > 0] + a [x ≤ 0])
elu: δ passes above zero, and fades below.
    y = x if x > 0 else a(eˣ − 1)
    δ_x = δ_y ⊙ ([x > 0] + [x ≤ 0] a eˣ)
gelu: δ is scaled by the slope of x Φ(x), Φ being the normal distribution.
    y = x Φ(x)
    δ_x = δ_y ⊙ (Φ(x) + x φ(x))
silu: δ is scaled by the slope of the gated input.
    y = x σ(x)
    δ_x = δ_y ⊙ σ(x)(1 + x(1 − σ(x)))
softplus: δ is scaled by the logistic function.
    y = ln(1 + eˣ)
    δ_x = δ_y ⊙ σ(x)
softmax: Each row gets δ less its mean under the row's own weights, times these weights.
    yᵢ = e^xᵢ / Σⱼ e^xⱼ
    δ_xᵢ = yᵢ (δ_yᵢ − Σⱼ δ_yⱼ yⱼ)
log_softmax: Each row gets δ less its sum, dealt out by the probabilities.
    yᵢ = xᵢ − ln Σⱼ e^xⱼ
    δ_xᵢ = δ_yᵢ − softmax(x)ᵢ Σⱼ δ_yⱼ
logsumexp: δ is dealt out by the softmax of the inputs.
    y = ln Σⱼ e^xⱼ
    δ_xᵢ = δ_y softmax(x)ᵢ
linear: The input gets δ through the weights; weights get δ times input, the bias δ, summed over the batch.
    y = x Wᵀ + b
    δ_x = δ_y W,  δ_W = Σ δ_yᵀ x,  δ_b = Σ δ_y
matmul: Each factor gets δ times the other one, transposed.
    Y = X Z
    δ_X = δ_Y Zᵀ,  δ_Z = Xᵀ δ_Y
addmm: A matrix product with something added: δ goes to both.
    Y = B + X Z
    δ_X = δ_Y Zᵀ,  δ_Z = Xᵀ δ_Y,  δ_B = δ_Y
einsum: Each factor gets δ combined with the other factors, over the axes that it lacks.
    y = Σ Π xᵢ
    δ_xᵢ = Σ δ_y Π_{j≠i} xⱼ
bilinear: Each side gets δ through the weights and the other side.
    y = xᵀ W z + b
    δ_x = Σ δ_y W z,  δ_z = Σ δ_y Wᵀ x,  δ_W = δ_y x zᵀ
conv: The input gets δ through the filters turned round; a filter gets δ times what it saw, summed over places.
    y = x ⋆ w + b
    δ_x = δ_y ∗ w,  δ_w = x ⋆ δ_y,  δ_b = Σ δ_y
scaled_dot_product_attention: Values get δ through the weights A; queries and keys what the softmax lets through.
    A = softmax(Q Kᵀ / √d),  Y = A V
    δ_V = Aᵀ δ_Y,  δ_E = A ⊙ (δ_Y Vᵀ − Σ δ_Y Vᵀ ⊙ A),  δ_Q = δ_E K / √d,  δ_K = δ_Eᵀ Q / √d
multi_head_attention_forward: Projections, attention in each head, and a projection back.
    Y = [softmax(QₕKₕᵀ / √d) Vₕ]ₕ W_O
    δ through the projection, the heads and the three projections in turn
lstm: Gates open and close a cell from step to step; δ comes back through time.
    c = f ⊙ c₋ + i ⊙ g,  h = o ⊙ tanh c
    δ_c₋ = δ_c ⊙ f, and on to the gates, step by step from the last
gru: A gate mixes the old state with a new one; δ comes back through time.
    h = (1 − z) ⊙ n + z ⊙ h₋
    δ_h₋ = δ_h ⊙ z, and on to the gates, step by step from the last
rnn_tanh: One layer applied at every step; δ comes back through time.
    h = tanh(x Wᵀ + h₋ Uᵀ + b)
    δ_s = δ_h ⊙ (1 − h²),  δ_h₋ = δ_s U
rnn_relu: One layer applied at every step; δ comes back through time.
    h = relu(x Wᵀ + h₋ Uᵀ + b)
    δ_s = δ_h ⊙ [h > 0],  δ_h₋ = δ_s U
layer_norm: δ loses its mean and its part along the normalised input, and is divided by the deviation.
    y = γ ⊙ x̂ + β,  x̂ = (x − μ) / √(σ² + ε)
    g = γ ⊙ δ_y;  δ_x = (g − mean g − x̂ ⊙ mean(g ⊙ x̂)) / √(σ² + ε),  δ_γ = Σ δ_y ⊙ x̂,  δ_β = Σ δ_y
rms_norm: δ loses its part along the normalised input, and is divided by the root mean square.
    y = γ ⊙ x̂,  x̂ = x / √(mean x² + ε)
    g = γ ⊙ δ_y;  δ_x = (g − x̂ ⊙ mean(g ⊙ x̂)) / √(mean x² + ε),  δ_γ = Σ δ_y ⊙ x̂
batch_norm: As layer norm, but over the batch: in training, δ of one example depends on the others.
    y = γ ⊙ x̂ + β,  x̂ = (x − μ) / √(σ² + ε) by channel
    g = γ ⊙ δ_y;  δ_x = (g − mean g − x̂ ⊙ mean(g ⊙ x̂)) / √(σ² + ε)  (at test: g / √(σ² + ε))
group_norm: As layer norm, over groups of channels.
    y = γ ⊙ x̂ + β,  x̂ = (x − μ) / √(σ² + ε) by group
    g = γ ⊙ δ_y;  δ_x = (g − mean g − x̂ ⊙ mean(g ⊙ x̂)) / √(σ² + ε)
normalize: δ loses its part along the input, and is divided by the length.
    y = x / |x|
    δ_x = (δ_y − y (y·δ_y)) / |x|
dropout: δ passes where the input did, scaled alike.
    y = m ⊙ x / (1 − p),  m drawn with P(m = 0) = p
    δ_x = m ⊙ δ_y / (1 − p)
sum: Every term gets the whole δ.
    y = Σᵢ xᵢ
    δ_xᵢ = δ_y
mean: Every term gets an equal part of δ.
    y = (1/n) Σᵢ xᵢ
    δ_xᵢ = δ_y / n
prod: Every factor gets δ times the product of the others.
    y = Πᵢ xᵢ
    δ_xᵢ = δ_y Π_{j≠i} xⱼ
var: Each entry gets δ by its distance from the mean.
    y = Σᵢ (xᵢ − μ)² / (n − 1)
    δ_xᵢ = δ_y 2(xᵢ − μ) / (n − 1)
std: Each entry gets δ by its distance from the mean.
    y = √(Σᵢ (xᵢ − μ)² / (n − 1))
    δ_xᵢ = δ_y (xᵢ − μ) / ((n − 1) y)
norm: δ points along the input.
    y = √Σᵢ xᵢ²
    δ_x = δ_y x / y
max: Only what was largest gets δ; shared if several were.
    y = maxᵢ xᵢ
    δ_xᵢ = δ_y [xᵢ = y]
min: Only what was smallest gets δ; shared if several were.
    y = minᵢ xᵢ
    δ_xᵢ = δ_y [xᵢ = y]
maximum: Where an input was the larger one, it gets δ.
    y = max(x, z)
    δ_x = δ_y ⊙ [x > z],  δ_z = δ_y ⊙ [z > x],  half each where equal
minimum: Where an input was the smaller one, it gets δ.
    y = min(x, z)
    δ_x = δ_y ⊙ [x < z],  δ_z = δ_y ⊙ [z < x],  half each where equal
cumsum: Each entry gets the δ of all sums that it is part of.
    yᵢ = Σ_{j≤i} xⱼ
    δ_xⱼ = Σ_{i≥j} δ_yᵢ
max_pool: In each window the largest entry gets δ.
    y = max over the window
    δ_xᵢ = Σ δ_y [xᵢ was the largest]
avg_pool: In each window every entry gets an equal part of δ.
    y = mean over the window
    δ_xᵢ = Σ δ_y / n
cross_entropy: The logits get probability minus target: what was expected too much is pushed down.
    L = −mean ln softmax(x)[target]
    δ_x = δ_L (softmax(x) − 1[target]) / n
nll_loss: Only the target's entry gets δ.
    L = −mean x[target]
    δ_x = −δ_L 1[target] / n
mse_loss: The prediction gets twice its error, averaged.
    L = mean (x − z)²
    δ_x = δ_L 2(x − z) / n,  δ_z = −δ_x
l1_loss: The prediction gets the sign of its error, averaged.
    L = mean |x − z|
    δ_x = δ_L sign(x − z) / n,  δ_z = −δ_x
binary_cross_entropy: The probability gets its error, over its variance.
    L = −mean (t ln x + (1 − t) ln(1 − x))
    δ_x = δ_L (x − t) / (x(1 − x) n)
binary_cross_entropy_with_logits: The logit gets probability minus target.
    L = −mean (t ln σ(x) + (1 − t) ln(1 − σ(x)))
    δ_x = δ_L (σ(x) − t) / n
kl_div: The log-probabilities get the negative target.
    L = Σ t (ln t − x)
    δ_x = −δ_L t
embedding: Each row of the table gets the δ of the places that looked it up.
    y = W[tokens]
    δ_W[v] = Σ δ_y where token = v
getitem: δ goes back to the places that were taken; the others get none.
    y = x[index]
    δ_x[index] = δ_y, else 0
setitem: What was overwritten gets no δ; what was written gets that of its place.
    y = x, y[index] = z
    δ_x = δ_y but 0 at the index,  δ_z = δ_y[index]
gather: δ goes back to the places that were taken, summed where taken twice.
    yᵢ = x[indexᵢ]
    δ_x[indexᵢ] += δ_yᵢ
reshape: The same numbers in another shape: δ goes back to the old one.
    y = x, other shape
    δ_x = δ_y, old shape
transpose: Axes change places: those of δ change back.
    y = xᵀ
    δ_x = δ_yᵀ
expand: Copies: their δs add up.
    yᵢ = x
    δ_x = Σᵢ δ_yᵢ
cat: δ is cut into the parts again.
    y = [x, z]
    [δ_x, δ_z] = δ_y
stack: δ is cut into the parts again.
    y = (x, z) on a new axis
    (δ_x, δ_z) = δ_y
split: The δs of the parts are put together.
    [y, z] = x
    δ_x = [δ_y, δ_z]
where: δ goes to the side that was taken.
    y = x if c else z
    δ_x = δ_y ⊙ [c],  δ_z = δ_y ⊙ [not c]
masked_fill: δ passes where nothing was filled in.
    y = x, but v where the mask holds
    δ_x = δ_y ⊙ [not mask]
tril: δ passes where the matrix was kept.
    y = lower triangle of x
    δ_x = lower triangle of δ_y
clone: A copy: δ passes.
    y = x
    δ_x = δ_y
alias: The same memory, seen again after somebody wrote to it: δ goes back to its owner.
    y = x, in part or in another shape
    δ_x = δ_y in its places, else 0
unseen: What ran here could not be seen from Python; its J is known to autograd alone.
    y = f(x)
    δ_x = J_fᵀ δ_y
detach: Cut from the graph: no δ comes back.
    y = x
    none
copy_: What was written gets δ, what was there before gets none.
    y = z
    δ_z = δ_y
zero_: What was there before gets no δ.
    y = 0
    δ_x = 0
argmax: A choice has no slope: no δ comes back.
    y = argmaxᵢ xᵢ
    none
"""

# Operators that go by the rule of another.
_SAME = {
    "reshape": "view flatten unflatten squeeze unsqueeze view_as reshape_as contiguous as_strided ravel rearrange",
    "transpose": "permute t T mT movedim moveaxis swapaxes flip roll adjoint H mH",
    "expand": "expand_as repeat broadcast_to tile repeat_interleave",
    "split": "chunk unbind tensor_split split_with_sizes",
    "getitem": "select narrow index_select index take slice diagonal unfold take_along_dim",
    "gather": "scatter scatter_add index_add",
    "matmul": "mm bmm mv dot vdot inner outer",
    "max": "amax",
    "min": "amin",
    "clamp": "clip clamp_min clamp_max hardtanh relu6",
    "conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "max_pool": "max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d boolean_dispatch fn",
    "avg_pool": "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
    "dropout": "alpha_dropout feature_dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    "embedding": "embedding_bag",
    "clone": "to float double half bfloat16 type_as cpu cuda",
    "detach": "data",
    "tril": "triu",
    "sigmoid": "logistic expit",
    "norm": "vector_norm",
    "addmm": "addbmm baddbmm addmv",
    "argmax": "argmin argsort multinomial round floor ceil sign eq ne lt le gt ge isnan",
    "add": "radd iadd",
    "mul": "rmul imul",
    "div": "truediv itruediv idiv",
    "sub": "isub",
    "lstm": "lstm_cell",
    "gru": "gru_cell",
    "rnn_tanh": "rnn_tanh_cell",
    "rnn_relu": "rnn_relu_cell",
    "batch_norm": "instance_norm",
}


def _read(text: str) -> dict[str, Rule]:
    lines = text.strip().splitlines()
    rules = {}
    for head, forward, backward in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        name, words = head.split(": ", 1)
        rules[name] = Rule(words, forward.strip(), backward.strip())
    return rules | {other: rules[name] for name, others in _SAME.items() for other in others.split()}


_BY_NAME = _read(_RULES)


def find_rule(name: str) -> Rule | None:
    """The rule of an operator, also of the one that works in place (``relu_``); None if we have no words for it.

    >>> find_rule("exp").backward
    'δ_x = δ_y ⊙ y'
    """
    return _BY_NAME.get(name) or _BY_NAME.get(name.rstrip("_"))


__all__ = ["Rule", "find_rule"]
