"""What the linear part of a law says: roots, norms, transients, step limits, noise."""
