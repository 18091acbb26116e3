"""Blocks: the equations, and the modules that own their weights."""

from cutaway.blocks.attention.additive_decoder import AdditiveDecoder, Decoded, Source
from cutaway.blocks.attention.caches import Cache, LayerCache, MemoryCache
from cutaway.blocks.attention.dot_product import Attended, attend, attend_open, attention_scores, mix_values
from cutaway.blocks.attention.linear_time import (
    LinearState,
    elu_plus_one,
    linear_attention,
    linear_attention_weights,
    linear_state,
    linear_step,
)
from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.pooling import (
    AttentionPool,
    pool_first,
    pool_last,
    pool_max,
    pool_mean,
    pool_mean_sqrt,
    pool_weighted,
)
from cutaway.blocks.attention.queryless import (
    Forgetting,
    GatedSummary,
    decay_weights,
    forgetting_gate,
    forgetting_weights,
    lookup,
    soft_lookup,
)
from cutaway.blocks.attention.scores import AdditiveScores, BilinearScores, cosine_scores, dot_scores, scaled_dot_scores
from cutaway.blocks.attention.transformer_layers import DecoderLayer, EncoderLayer
from cutaway.blocks.attention.weightings import hard_weights, linear_weights, soft_weights
from cutaway.blocks.attention_masks import patterns as pattern
from cutaway.blocks.attention_masks.patterns import Pattern
from cutaway.blocks.attention_masks.sparse import attend_sparse
from cutaway.blocks.convolution.as_matrix import Sharing, as_dense, weight_sharing
from cutaway.blocks.convolution.filters import filter_image, image_filter
from cutaway.blocks.convolution.grid_pooling import (
    MaxPool2d,
    MeanPool2d,
    global_pool,
    max_pool,
    mean_pool,
    pool_features,
    pool_grid_open,
)
from cutaway.blocks.convolution.grids import (
    Conv2d,
    Conv3d,
    convolve_grid,
    cross_correlate_grid,
    cross_correlate_grid_open,
)
from cutaway.blocks.convolution.local_pooling import max_pool_steps, mean_pool_steps
from cutaway.blocks.convolution.one_dimensional import (
    Conv1d,
    convolve,
    cross_correlate,
    cross_correlate_open,
    step_mask,
)
from cutaway.blocks.convolution.pixel_shuffles import PixelUnshuffle, pixel_shuffle, pixel_unshuffle
from cutaway.blocks.convolution.receptive_fields import Reach, stack_reach
from cutaway.blocks.convolution.residual_blocks import ConvLayer2d, InvertedResidual2d, ResidualConv2d
from cutaway.blocks.convolution.separable import SeparableConv2d
from cutaway.blocks.convolution.transposed import (
    TransposedConv1d,
    TransposedConv2d,
    TransposedConv3d,
    transposed_convolve,
    transposed_convolve_open,
)
from cutaway.blocks.dense.activations import (
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
from cutaway.blocks.dense.affine import Dense, Linear, linear
from cutaway.blocks.dense.mlps import MLP, GatedMLP
from cutaway.blocks.dense.neurons import (
    Constant,
    StochasticBinary,
    bernoulli,
    stochastic_binary,
    straight_through,
    threshold,
)
from cutaway.blocks.dense.perceptrons import Perceptron, perceptron_step
from cutaway.blocks.dense.softmaxes import SoftmaxLayer, hard_argmax, softmax
from cutaway.blocks.dense.tensors import is_pure, matricise, outer, pure_tensor
from cutaway.blocks.depth.dropouts import Dropout, MonteCarlo, dropout, dropping, monte_carlo
from cutaway.blocks.depth.initialisers import (
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
from cutaway.blocks.depth.noises import GaussianNoise, flip_labels, gaussian_noise, label_smoothing, noisy_weights
from cutaway.blocks.depth.skips import DenselyConnected, Residual, Skip, SkipAttention
from cutaway.blocks.embeddings.hidden_patches import (
    choose_visible,
    hidden_error,
    hidden_places,
    patch_targets,
    put_places,
    take_places,
)
from cutaway.blocks.embeddings.hierarchical import HierarchicalSoftmax
from cutaway.blocks.embeddings.naive_bayes import NaiveBayesBag, log_count_ratios, sum_bag
from cutaway.blocks.embeddings.number_bins import NumberBins
from cutaway.blocks.embeddings.numbers import PiecewiseEncoding, piecewise_encode
from cutaway.blocks.embeddings.output_layers import FullSoftmax, OutputLayer
from cutaway.blocks.embeddings.patches import PatchEmbedding, cut_patches
from cutaway.blocks.embeddings.proposals import Proposal
from cutaway.blocks.embeddings.sampled import (
    NCE,
    NegativeSampling,
    SampledSoftmax,
    nce_loss,
    negative_sampling_loss,
    sampled_softmax_loss,
)
from cutaway.blocks.embeddings.table_cells import CellEmbedding
from cutaway.blocks.embeddings.tokens import Embedding, embed, one_hot
from cutaway.blocks.embeddings.trees import Tree
from cutaway.blocks.embeddings.word_windows import cbow_loss, skip_gram_loss
from cutaway.blocks.generative.binary_codes import BinaryCode, binary_code
from cutaway.blocks.generative.conditioned_residual import ConditionedResidual
from cutaway.blocks.generative.frechet import frechet_distance, gaussian_frechet
from cutaway.blocks.generative.guidance import guide
from cutaway.blocks.generative.latents import GaussianCode, GaussianLatent, kl_to_standard_normal, reparameterise
from cutaway.blocks.generative.mean_discrepancy import earth_movers_distances, histogram_mmd
from cutaway.blocks.generative.noise_schedules import (
    NoiseSchedule,
    cosine_betas,
    from_betas,
    linear_betas,
    noise_schedule,
    straight_path,
)
from cutaway.blocks.generative.samplers import Level, ddim_step, ddpm_posterior, ddpm_step, euler_step
from cutaway.blocks.generative.targets import (
    Denoised,
    convert_prediction,
    denoise,
    denoising_target,
    squared_error_weight,
)
from cutaway.blocks.generative.time_embedding import TimeEmbedding
from cutaway.blocks.graph_layers.chebyshev import ChebyshevLayer
from cutaway.blocks.graph_layers.cluster_pooling import coarsen, pool_clusters
from cutaway.blocks.graph_layers.edge_attention import EdgeAttention
from cutaway.blocks.graph_layers.fixed_point import FixedPointLayer, Settled
from cutaway.blocks.graph_layers.gat import GATLayer
from cutaway.blocks.graph_layers.gated_steps import GatedGraphLayer
from cutaway.blocks.graph_layers.gcn import GCNLayer
from cutaway.blocks.graph_layers.gin import GINLayer
from cutaway.blocks.graph_layers.graph_conv import GraphConvLayer
from cutaway.blocks.graph_layers.graph_transformer import GraphTransformerLayer
from cutaway.blocks.graph_layers.message_passing import MessagePassing, gather_messages
from cutaway.blocks.graph_layers.readouts import (
    AttentionReadout,
    add_global_vertex,
    readout_global,
    readout_max,
    readout_mean,
    readout_sum,
)
from cutaway.blocks.graph_layers.spectral import SpectralLayer
from cutaway.blocks.graph_layers.structural_encodings import (
    LaplacianEncoding,
    RandomWalkEncoding,
    flip_signs,
    random_walk_encoding,
)
from cutaway.blocks.graphs.cuts import cut_weights, modularity, normalised_cut, ratio_cut
from cutaway.blocks.graphs.fourier import (
    dft_matrix,
    graph_fourier,
    inverse_graph_fourier,
    spectral_convolution,
    spectral_filter,
)
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.incidence import oriented_incidence
from cutaway.blocks.graphs.laplacian import degrees, dirichlet_energy, laplacian
from cutaway.blocks.graphs.neighbours import max_neighbours, mean_neighbours, sum_neighbours
from cutaway.blocks.graphs.sparse_features import dropout_features
from cutaway.blocks.likelihoods.gaussian import Gaussian, gaussian_log_density
from cutaway.blocks.likelihoods.negative_binomial import NegativeBinomial, negative_binomial_log_density
from cutaway.blocks.likelihoods.student_t import StudentT, student_t_log_density
from cutaway.blocks.linear_regions.lines import LineRegions, attainable_regions, line_regions, region_upper_bound
from cutaway.blocks.linear_regions.networks import Approximation, approximate, relu_network
from cutaway.blocks.linear_regions.windows import WindowRegions, window_regions
from cutaway.blocks.losses.cka import linear_cka
from cutaway.blocks.losses.contrastive import (
    info_nce,
    margin_loss,
    nt_xent,
    prototypes,
    prototypical_loss,
    retrieval_loss,
    squared_distances,
)
from cutaway.blocks.losses.distances import (
    cross_entropy,
    cross_entropy_from_logits,
    entropy,
    entropy_from_logits,
    kl_divergence,
    kl_from_logits,
    lp_distance,
    total_variation,
)
from cutaway.blocks.losses.linear_cross_entropy import linear_cross_entropy, linear_cross_entropy_open
from cutaway.blocks.losses.metrics import Metric, accuracy, balanced_accuracy, f1, macro_f1, r_squared
from cutaway.blocks.losses.penalties import l1_penalty, l2_penalty
from cutaway.blocks.losses.pointwise import (
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
from cutaway.blocks.losses.quantiles import (
    coverage,
    crps_from_quantiles,
    crps_from_samples,
    mase,
    quantile_loss,
    weighted_quantile_loss,
)
from cutaway.blocks.losses.restoration import cell_losses, scaled_cosine_error
from cutaway.blocks.losses.tasks import Head, Task, find_task
from cutaway.blocks.losses.warping import time_warping_distance
from cutaway.blocks.low_rank.bottleneck import Bottleneck
from cutaway.blocks.low_rank.dora import DoRA, column_lengths
from cutaway.blocks.low_rank.effective_rank import effective_rank
from cutaway.blocks.low_rank.lora import LoRA
from cutaway.blocks.low_rank.lora_convolutions import LoRAConv
from cutaway.blocks.low_rank.prefixes import Prefix, Prompt, attend_with_prefix
from cutaway.blocks.low_rank.updates import LowRank, low_rank_update
from cutaway.blocks.norms.batch import BatchNorm, batch_norm
from cutaway.blocks.norms.channels import ChannelScale
from cutaway.blocks.norms.contrast import ContrastCurve
from cutaway.blocks.norms.group import GroupNorm, group_norm
from cutaway.blocks.norms.layer import LayerNorm, layer_norm
from cutaway.blocks.norms.rms import RMSNorm, rms_norm
from cutaway.blocks.norms.weight import WeightNormLinear, weight_norm
from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.blocks.positions.relative import RelativeBias, alibi_bias, alibi_slopes, relative_buckets
from cutaway.blocks.positions.rotary import Rotary, rotary_angles, rotate
from cutaway.blocks.positions.rotary_scalings import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    YaRNScaling,
)
from cutaway.blocks.positions.sinusoidal import SinusoidalPosition, sinusoids
from cutaway.blocks.recurrence.equations import gru_step, lstm_step, rnn_step
from cutaway.blocks.recurrence.gru import GRU
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.blocks.recurrence.rnn import RNN
from cutaway.blocks.recurrence.states import GRUState, LSTMState, RNNState

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "MLP",
    "NCE",
    "RNN",
    "Activation",
    "AdditiveDecoder",
    "AdditiveScores",
    "Approximation",
    "Attended",
    "AttentionPool",
    "AttentionReadout",
    "BatchNorm",
    "BilinearScores",
    "BinaryCode",
    "Bottleneck",
    "Cache",
    "CellEmbedding",
    "ChannelScale",
    "ChebyshevLayer",
    "ConditionedResidual",
    "Constant",
    "ContrastCurve",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvLayer2d",
    "Decoded",
    "DecoderLayer",
    "Denoised",
    "Dense",
    "DenselyConnected",
    "DoRA",
    "Dropout",
    "DynamicNTKScaling",
    "EdgeAttention",
    "Embedding",
    "EncoderLayer",
    "FixedPointLayer",
    "Forgetting",
    "FullSoftmax",
    "GATLayer",
    "GCNLayer",
    "GINLayer",
    "GRUState",
    "GatedGraphLayer",
    "GatedMLP",
    "GatedSummary",
    "Gaussian",
    "GaussianCode",
    "GaussianLatent",
    "GaussianNoise",
    "Graph",
    "GraphConvLayer",
    "GraphTransformerLayer",
    "GroupNorm",
    "Head",
    "HierarchicalSoftmax",
    "InvertedResidual2d",
    "LSTMState",
    "LaplacianEncoding",
    "LayerCache",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPosition",
    "Level",
    "LineRegions",
    "Linear",
    "LinearScaling",
    "LinearState",
    "Llama3Scaling",
    "LoRA",
    "LoRAConv",
    "LowRank",
    "MaxPool2d",
    "MeanPool2d",
    "MemoryCache",
    "MessagePassing",
    "Metric",
    "MonteCarlo",
    "MultiHeadAttention",
    "NTKScaling",
    "NaiveBayesBag",
    "NegativeBinomial",
    "NegativeSampling",
    "NoiseSchedule",
    "NumberBins",
    "OutputLayer",
    "PatchEmbedding",
    "Pattern",
    "Perceptron",
    "PiecewiseEncoding",
    "PixelUnshuffle",
    "Prefix",
    "Prompt",
    "Proposal",
    "RMSNorm",
    "RNNState",
    "RandomWalkEncoding",
    "Reach",
    "RelativeBias",
    "Residual",
    "ResidualConv2d",
    "Rotary",
    "SampledSoftmax",
    "SeparableConv2d",
    "Settled",
    "Sharing",
    "SinusoidalPosition",
    "Skip",
    "SkipAttention",
    "SoftmaxLayer",
    "Source",
    "SpectralLayer",
    "StochasticBinary",
    "StudentT",
    "Task",
    "TimeEmbedding",
    "TransposedConv1d",
    "TransposedConv2d",
    "TransposedConv3d",
    "Tree",
    "WeightNormLinear",
    "WindowRegions",
    "YaRNScaling",
    "absolute_loss",
    "accuracy",
    "add_global_vertex",
    "alibi_bias",
    "alibi_slopes",
    "approximate",
    "as_dense",
    "attainable_regions",
    "attend",
    "attend_open",
    "attend_sparse",
    "attend_with_prefix",
    "attention_scores",
    "balanced_accuracy",
    "batch_norm",
    "bernoulli",
    "binary_code",
    "cbow_loss",
    "cell_losses",
    "choose_visible",
    "coarsen",
    "column_lengths",
    "convert_prediction",
    "convolve",
    "convolve_grid",
    "cosine_betas",
    "cosine_scores",
    "cost",
    "coverage",
    "cross_correlate",
    "cross_correlate_grid",
    "cross_correlate_grid_open",
    "cross_correlate_open",
    "cross_entropy",
    "cross_entropy_from_logits",
    "cross_entropy_loss",
    "crps_from_quantiles",
    "crps_from_samples",
    "cut_patches",
    "cut_weights",
    "ddim_step",
    "ddpm_posterior",
    "ddpm_step",
    "decay_weights",
    "degrees",
    "denoise",
    "denoising_target",
    "dft_matrix",
    "dirichlet_energy",
    "dot_scores",
    "dropout",
    "dropout_features",
    "dropping",
    "earth_movers_distances",
    "effective_rank",
    "elu",
    "elu_plus_one",
    "embed",
    "entropy",
    "entropy_from_logits",
    "euler_step",
    "f1",
    "fan_in_",
    "fan_out_",
    "filter_image",
    "find_activation",
    "find_task",
    "flip_labels",
    "flip_signs",
    "forgetting_gate",
    "forgetting_weights",
    "frechet_distance",
    "from_betas",
    "gather_messages",
    "gaussian_frechet",
    "gaussian_log_density",
    "gaussian_noise",
    "gelu",
    "gelu_tanh",
    "global_pool",
    "graph_fourier",
    "group_norm",
    "gru_step",
    "guide",
    "hard_argmax",
    "hard_weights",
    "hidden_error",
    "hidden_places",
    "hinge_loss",
    "histogram_mmd",
    "identity",
    "image_filter",
    "info_nce",
    "initialise",
    "inverse_graph_fourier",
    "is_pure",
    "kaiming_normal_",
    "kl_divergence",
    "kl_from_logits",
    "kl_loss",
    "kl_to_standard_normal",
    "l1_penalty",
    "l2_penalty",
    "label_smoothing",
    "laplacian",
    "layer_norm",
    "leaky_relu",
    "line_regions",
    "linear",
    "linear_attention",
    "linear_attention_weights",
    "linear_betas",
    "linear_cka",
    "linear_cross_entropy",
    "linear_cross_entropy_open",
    "linear_state",
    "linear_step",
    "linear_weights",
    "log_count_ratios",
    "log_loss",
    "logistic",
    "lookup",
    "low_rank_update",
    "lp_distance",
    "lstm_step",
    "macro_f1",
    "margin_loss",
    "mase",
    "matricise",
    "max_neighbours",
    "max_pool",
    "max_pool_steps",
    "mean_neighbours",
    "mean_pool",
    "mean_pool_steps",
    "mix_values",
    "modularity",
    "monte_carlo",
    "multiclass_hinge_loss",
    "nce_loss",
    "negative_binomial_log_density",
    "negative_sampling_loss",
    "noise_schedule",
    "noisy_weights",
    "normal_",
    "normalised_cut",
    "nt_xent",
    "one_hot",
    "oriented_incidence",
    "orthogonal_",
    "outer",
    "patch_targets",
    "pattern",
    "perceptron_step",
    "piecewise_encode",
    "pixel_shuffle",
    "pixel_unshuffle",
    "pool_clusters",
    "pool_features",
    "pool_first",
    "pool_grid_open",
    "pool_last",
    "pool_max",
    "pool_mean",
    "pool_mean_sqrt",
    "pool_weighted",
    "power_loss",
    "prototypes",
    "prototypical_loss",
    "pure_tensor",
    "put_places",
    "quantile_loss",
    "r_squared",
    "random_walk_encoding",
    "ratio_cut",
    "readout_global",
    "readout_max",
    "readout_mean",
    "readout_sum",
    "region_upper_bound",
    "relative_buckets",
    "relu",
    "relu_network",
    "relu_squared",
    "reparameterise",
    "retrieval_loss",
    "rms_norm",
    "rnn_step",
    "rotary_angles",
    "rotate",
    "sampled_softmax_loss",
    "scaled_cosine_error",
    "scaled_dot_scores",
    "silu",
    "sinusoids",
    "skip_gram_loss",
    "small_residual_",
    "soft_lookup",
    "soft_weights",
    "softmax",
    "spectral_convolution",
    "spectral_filter",
    "squared_distances",
    "squared_error_weight",
    "squared_loss",
    "stack_reach",
    "step_mask",
    "stochastic_binary",
    "straight_path",
    "straight_through",
    "student_t_log_density",
    "sum_bag",
    "sum_neighbours",
    "take_places",
    "tanh",
    "threshold",
    "time_warping_distance",
    "total_variation",
    "transposed_convolve",
    "transposed_convolve_open",
    "weight_norm",
    "weight_sharing",
    "weighted_quantile_loss",
    "window_regions",
    "xavier_normal_",
    "xavier_uniform_",
    "zero_one_loss",
    "zeros_",
]
