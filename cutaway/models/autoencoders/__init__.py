"""Models that compress images into a code and make images of codes: autoencoders, also variational ones."""
