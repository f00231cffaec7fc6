"""Where a run starts: on the program, and by how much it was moved there."""
