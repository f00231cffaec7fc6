"""Parameters, gains and starts from measured data."""
