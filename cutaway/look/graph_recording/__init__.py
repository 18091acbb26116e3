"""The recording of compute graphs: what ran, on which values, and the δ of each. Its face is `cutaway.look.graphs`."""
