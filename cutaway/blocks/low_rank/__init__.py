"""Small trained parts on top of frozen weights: LoRA, DoRA, bottleneck adapters, prefixes and prompts."""
