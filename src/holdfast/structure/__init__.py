"""What Lagrangian form equations have, and equations that have one by construction."""
