"""Hidden vertices and edges of graphs: what is hidden, what restoring it costs, and the learner that does."""
