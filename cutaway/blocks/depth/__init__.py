"""What makes deep networks trainable: skip connections, initial weights, dropout, noise."""
