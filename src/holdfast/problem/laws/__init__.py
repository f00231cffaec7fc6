"""How deviations from a program die away."""
