"""Views: the pictures of a run, by the kind of model."""
