"""Steps in the order of time, re-checked: a map of the deviations from each box of a tube at the rows of a run."""
