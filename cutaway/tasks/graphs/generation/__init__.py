"""Drawing new graphs: sequences, likelihoods, statistics."""
