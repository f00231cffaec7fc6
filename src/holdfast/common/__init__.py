"""What every room may use: frozen mappings, hints for misspelt names, limits, and the one writer of files."""
