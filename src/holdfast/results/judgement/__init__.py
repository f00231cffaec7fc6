"""How a run is judged: one judgement for every verb, the page and the exit code."""
