"""Cases on a graphics card: one thread to a case, the kernels' own bodies and drivers."""
