"""What the verifier encloses: one step of a block, over cells that cover the region."""
