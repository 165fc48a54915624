"""Energy-based models, usable alone: networks, samplers, losses, divergences."""
