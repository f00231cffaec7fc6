"""What is asked: a system by its energies, a program, a law, a start, and how to run it."""
