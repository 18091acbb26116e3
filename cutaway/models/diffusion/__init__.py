"""Models that make images of noise, step by step: denoising diffusion and flow matching."""
