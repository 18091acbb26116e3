"""The recording of compute graphs: which operators ran, on which values, and each δ. Used by `cutaway.look.graphs`."""
