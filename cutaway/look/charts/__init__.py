"""Charts: each a small file with a function that takes tensors or plain data and returns a Picture."""
