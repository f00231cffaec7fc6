"""From a run to its certificate: proved, checked, estimated or refused, block by block."""
