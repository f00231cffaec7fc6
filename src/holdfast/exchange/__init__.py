"""How equations leave for other tools, and how systems of others come in."""
