"""Recurrent models: language models that carry a state from token to token."""
