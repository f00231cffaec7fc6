"""How it is run: fields become kernels (LLVM, C, Python), kernels become rows. The engine knows numbers, not names."""
