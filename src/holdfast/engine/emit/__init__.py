"""From nodes and drivers to text: LLVM IR (scalar and lanes), C99, Python."""
