"""How far a run is from the motion: estimated from the same run, finer."""
