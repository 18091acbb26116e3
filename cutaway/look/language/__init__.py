"""Language models taken apart: logit lens, logit attribution, activation patching, input attributions."""
