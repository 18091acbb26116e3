"""The families of checkpoints, one file each: how their configurations and tensors become our specs and tensors."""
