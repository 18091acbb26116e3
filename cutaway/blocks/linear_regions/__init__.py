"""The pieces on which a ReLU network is linear: networks built from pieces, and pieces counted in networks."""
