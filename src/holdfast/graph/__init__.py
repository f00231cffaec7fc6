"""Everything numerical as one exact graph: walked from SymPy, differentiated, solved, evaluated."""
