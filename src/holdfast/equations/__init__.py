"""From a problem to its equations of motion: as formulas, as numbers, as a field to run."""
