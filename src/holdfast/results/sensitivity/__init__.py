"""How a motion changes with parameters, gains and starts."""
