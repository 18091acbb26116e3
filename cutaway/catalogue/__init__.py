"""Every block of Cutaway, registered with an example, one file a kind. Import it to fill the registry."""

from cutaway.catalogue import (
    attention,
    attention_masks,
    convolution,
    dense,
    depth,
    embeddings,
    generative,
    graph_layers,
    graphs,
    likelihoods,
    linear_regions,
    losses,
    low_rank,
    models,
    norms,
    positions,
    recurrence,
)
