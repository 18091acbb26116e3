"""Training in one process, or in many that share every batch."""
