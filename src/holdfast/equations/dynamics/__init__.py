"""What is to be solved: inertia, forces, deviations, the law's demand, and who holds the program."""
