"""Proving that deviations stay in a tube: balls, cells, contraction, rounding."""
