"""What the verifier reads: the certificate, the text of its problem, and the operations that are run."""
