"""Certificates: what is promised, kept as JSON, and verified by somebody else."""
