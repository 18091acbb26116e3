"""Blocks: the equations, and the modules that own their weights."""

from cutaway.blocks.activations import (
    ELU,
    Activation,
    LeakyReLU,
    elu,
    find_activation,
    gelu,
    gelu_tanh,
    identity,
    leaky_relu,
    logistic,
    relu,
    relu_squared,
    silu,
    tanh,
)
from cutaway.blocks.affine import Dense, Linear, linear
from cutaway.blocks.attention import Attended, attend, attend_open, attention_scores, mix_values
from cutaway.blocks.attention_linear import (
    LinearState,
    elu_plus_one,
    linear_attention,
    linear_attention_weights,
    linear_state,
    linear_step,
)
from cutaway.blocks.caches import Cache, LayerCache, MemoryCache
from cutaway.blocks.choosing import SoftmaxLayer, hard_argmax, softmax
from cutaway.blocks.distances import (
    cross_entropy,
    cross_entropy_from_logits,
    entropy,
    entropy_from_logits,
    kl_divergence,
    kl_from_logits,
    lp_distance,
    total_variation,
)
from cutaway.blocks.dropouts import Dropout, MonteCarlo, dropout, dropping, monte_carlo
from cutaway.blocks.embeddings import Embedding, embed
from cutaway.blocks.gates import (
    Forgetting,
    GatedSummary,
    decay_weights,
    forgetting_gate,
    forgetting_weights,
    lookup,
    soft_lookup,
)
from cutaway.blocks.heads import Head, Metric, Task, accuracy, f1, find_task, r_squared
from cutaway.blocks.initialisers import (
    fan_in_,
    fan_out_,
    initialise,
    kaiming_normal_,
    normal_,
    orthogonal_,
    small_residual_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)
from cutaway.blocks.layers import DecoderLayer, EncoderLayer
from cutaway.blocks.losses import (
    absolute_loss,
    cost,
    cross_entropy_loss,
    hinge_loss,
    kl_loss,
    log_loss,
    multiclass_hinge_loss,
    power_loss,
    squared_loss,
    zero_one_loss,
)
from cutaway.blocks.mlps import MLP, GatedMLP
from cutaway.blocks.multihead import MultiHeadAttention
from cutaway.blocks.neurons import Constant, StochasticBinary, bernoulli, stochastic_binary, straight_through, threshold
from cutaway.blocks.noises import GaussianNoise, flip_labels, gaussian_noise, label_smoothing, noisy_weights
from cutaway.blocks.norm_batch import BatchNorm, batch_norm
from cutaway.blocks.norm_layer import LayerNorm, layer_norm
from cutaway.blocks.norm_rms import RMSNorm, rms_norm
from cutaway.blocks.norm_weight import WeightNormLinear, weight_norm
from cutaway.blocks.patches import PatchEmbedding, cut_patches
from cutaway.blocks.pattern import Pattern
from cutaway.blocks.penalties import l1_penalty, l2_penalty
from cutaway.blocks.perceptrons import Perceptron, perceptron_step
from cutaway.blocks.piecewise import Approximation, approximate, relu_network
from cutaway.blocks.piecewise_inputs import PiecewiseEncoding, piecewise_encode
from cutaway.blocks.planar import WindowRegions, window_regions
from cutaway.blocks.pooling import AttentionPool, pool_first, pool_last, pool_mean
from cutaway.blocks.position_learned import LearnedPosition
from cutaway.blocks.position_relative import RelativeBias, alibi_bias, alibi_slopes, relative_buckets
from cutaway.blocks.position_rotary import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    Rotary,
    YaRNScaling,
    rotary_angles,
    rotate,
)
from cutaway.blocks.position_sinusoidal import SinusoidalPosition, sinusoids
from cutaway.blocks.regions import LineRegions, attainable_regions, line_regions, region_upper_bound
from cutaway.blocks.scores import AdditiveScores, BilinearScores, cosine_scores, dot_scores, scaled_dot_scores
from cutaway.blocks.skips import DenselyConnected, Residual, Skip, SkipAttention
from cutaway.blocks.sparse import attend_sparse
from cutaway.blocks.structured import Sharing, as_dense, weight_sharing
from cutaway.blocks.tensors import is_pure, matricise, outer, pure_tensor
from cutaway.blocks.weightings import hard_weights, linear_weights, soft_weights
