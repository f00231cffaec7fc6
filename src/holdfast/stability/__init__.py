"""What laws, schemes and steps do to deviations: linear analysis, proofs, promises, gains."""
