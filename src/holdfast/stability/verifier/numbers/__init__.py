"""Numbers of the verifier: nodes with exact constants, and Taylor forms in doubles over many cells."""
